#include "ops/attention/attention_bytes.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <random>

#include "ops/attention/attention_layer.h"
#include "ops/gat/gat.h"
#include "ops/gatv2/gatv2.h"
#include "support/counting_allocator.h"

namespace plimsoll {
namespace {

struct Counted {
  int64_t held;  // Bytes of the output and of saved tensors, at the end.
  int64_t peak;
  int64_t largest;
};

template <typename Call>
Counted count(const Call& call) {
  CountingAllocator& allocator = CountingAllocator::install();
  const int64_t before = allocator.held();
  allocator.begin();
  const auto result = call();
  return {allocator.held() - before, allocator.max() - before, allocator.largest()};
}

void expect_counted(const AttentionBytes& stated, const Counted& counted, bool exact) {
  EXPECT_EQ(stated.output + stated.saved, counted.held);
  if (exact)
    EXPECT_EQ(stated.peak(), counted.peak);
  else
    EXPECT_GE(stated.peak(), counted.peak);
}

// Graphs of up to 40 nodes one after the other, or one graph; edge_index i64 [2, E].
struct Edges {
  int64_t nodes;
  at::Tensor index;

  Edges(int64_t graphs, int64_t nodes_of_each, int64_t edges_of_each) : nodes(graphs * nodes_of_each) {
    index = at::empty({2, graphs * edges_of_each}, at::kLong);
    std::mt19937_64 random(graphs);
    auto* const ends = index.mutable_data_ptr<int64_t>();
    for (int64_t e = 0; e < index.size(1); ++e) {
      const int64_t first = e / edges_of_each * nodes_of_each;
      ends[e] = first + static_cast<int64_t>(random() % static_cast<uint64_t>(nodes_of_each));
      ends[e + index.size(1)] = first + static_cast<int64_t>(random() % static_cast<uint64_t>(nodes_of_each));
    }
  }
};

struct Case {
  std::string name;
  AttentionShape shape;  // The shape without counts.
  Edges edges;
  bool needs = true;
};

class AttentionBytesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { CountingAllocator::install(); }
  void SetUp() override { at::set_num_threads(1); }

  static at::Tensor random(at::IntArrayRef shape, at::ScalarType dtype) {
    return at::randn(shape, at::kFloat).to(dtype);
  }

  // Returns the shape with its counts, and the order. With other targets, every second node is a target.
  static AttentionShape complete(const Case& tested, at::Tensor& order) {
    AttentionShape shape = tested.shape;
    shape.sources = shape.targets = tested.edges.nodes;
    at::Tensor index = tested.edges.index;
    if (shape.other_targets) {
      shape.targets = (tested.edges.nodes + 1) / 2;
      index = at::stack({index[0], at::floor_divide(index[1], 2)});
    }
    shape.edges = index.size(1);
    order = edge_order(index, shape.sources, shape.targets, !shape.other_targets,
                       shape.loops && !shape.other_targets);
    const EdgeOrder cut = view_edge_order(order.const_data_ptr<int32_t>(), order.numel(), shape.sources,
                                          shape.targets, shape.edges);
    shape.order = {.closed = cut.closed,
                   .pieces = cut.pieces,
                   .largest = AttentionRanges(cut).largest(),
                   .edges = cut.edges,
                   .max_in = cut.max_in};
    return shape;
  }

  static AttentionOptions options_of(const AttentionShape& shape) {
    return {.heads = shape.heads,
            .loops = shape.loops,
            .keep_projection = shape.keep_projection,
            .return_attention = shape.return_attention};
  }

  static void fill(AttentionTensors& in, const AttentionShape& shape) {
    const int64_t width = shape.heads * shape.channels;
    in.x = random({shape.sources, shape.features}, shape.dtype);
    in.weight = random({width, shape.features}, shape.dtype);
    if (shape.edge_features > 0) in.edge_attr = random({shape.edges, shape.edge_features}, shape.dtype);
    if (shape.bias) in.bias = random({width}, shape.dtype);
  }

  static GatTensors gat_tensors(const AttentionShape& shape, const at::Tensor& order) {
    GatTensors in;
    fill(in, shape);
    in.order = order;
    in.att_source = random({shape.heads, shape.channels}, shape.dtype);
    if (shape.other_targets)
      in.target_score = random({shape.targets, shape.heads}, shape.dtype);
    else
      in.att_target = random({shape.heads, shape.channels}, shape.dtype);
    if (shape.edge_features > 0) in.q = random({shape.edge_features, shape.heads}, shape.dtype);
    return in;
  }

  static Gatv2Tensors gatv2_tensors(const AttentionShape& shape, const at::Tensor& order) {
    const int64_t width = shape.heads * shape.channels;
    Gatv2Tensors in;
    fill(in, shape);
    in.order = order;
    in.att = random({shape.heads, shape.channels}, shape.dtype);
    if (shape.bias) in.weight_bias = random({width}, shape.dtype);
    if (shape.other_targets) in.x_target = random({shape.targets, shape.target_features}, shape.dtype);
    if (!shape.share_weights || shape.other_targets) {
      in.target_weight =
          random({width, shape.other_targets ? shape.target_features : shape.features}, shape.dtype);
      if (shape.bias) in.target_bias = random({width}, shape.dtype);
    }
    if (shape.edge_features > 0) in.edge_weight = random({shape.edge_features, width}, shape.dtype);
    return in;
  }
};

std::vector<Case> cases() {
  std::vector<Case> result;
  const std::vector<std::pair<std::string, Edges>> graphs = {{"one piece", {5, 20, 40}},
                                                             {"pieces", {100, 40, 90}},
                                                             {"one large graph", {1, 8500, 9000}},
                                                             {"no edges", {3, 10, 0}}};
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16})
    for (const auto& [name, edges] : graphs)
      for (int bits = 0; bits < 32; ++bits) {
        AttentionShape shape{.features = 24,
                             .target_features = 7,
                             .edge_features = bits & 1 ? 11 : 0,
                             .heads = 2,
                             .channels = 12,
                             .dtype = dtype};
        shape.keep_projection = (bits & 2) != 0;
        shape.loops = (bits & 4) != 0;
        shape.other_targets = (bits & 8) != 0;
        shape.return_attention = shape.bias = (bits & 16) != 0;
        if (dtype == at::kBFloat16 && bits == 31)
          shape.features = 256;  // Wide products need a larger buffer.
        if (!shape.other_targets) shape.target_features = 0;
        result.push_back({name + ", " + c10::toString(dtype) + ", options " + std::to_string(bits), shape,
                          edges, (bits & 3) != 0});
      }
  return result;
}

TEST_F(AttentionBytesTest, GatTakesWhatIsStated) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    at::Tensor order;
    const AttentionShape shape = complete(each, order);
    const GatTensors in = gat_tensors(shape, order);
    const AttentionOptions options = options_of(shape);
    const bool exact = shape.dtype != at::kBFloat16;
    GatOutput made;
    expect_counted(gat_bytes(shape), count([&] { return made = gat_forward(in, options); }), exact);
    const at::Tensor grad = at::ones_like(made.out);
    expect_counted(gat_backward_bytes(shape, each.needs, each.needs && shape.edge_features > 0), count([&] {
                     return gat_backward(grad, {}, in, made.saved, options, each.needs, each.needs);
                   }),
                   exact);
  }
}

TEST_F(AttentionBytesTest, Gatv2TakesWhatIsStated) {
  for (Case each : cases())
    for (const bool share : {false, true}) {
      if (share && each.shape.dtype != at::kFloat) continue;
      SCOPED_TRACE(each.name + (share ? ", shared" : ""));
      each.shape.share_weights = share;
      at::Tensor order;
      const AttentionShape shape = complete(each, order);
      const Gatv2Tensors in = gatv2_tensors(shape, order);
      const AttentionOptions options = options_of(shape);
      const bool exact = shape.dtype != at::kBFloat16;
      Gatv2Output made;
      expect_counted(gatv2_bytes(shape), count([&] { return made = gatv2_forward(in, options); }), exact);
      const at::Tensor grad = at::ones_like(made.out);
      expect_counted(
          gatv2_backward_bytes(shape, each.needs, each.needs && shape.edge_features > 0),
          count([&] { return gatv2_backward(grad, {}, in, made.saved, options, each.needs, each.needs); }),
          exact);
    }
}

TEST_F(AttentionBytesTest, SeveralThreadsTakeNoMoreThanStated) {
  at::set_num_threads(4);
  const std::vector<Case> all = cases();
  // Another test tries every option with every graph. A stride without common factors reaches each option
  // here.
  for (size_t next = 0; next < all.size(); next += 7) {
    const Case& each = all[next];
    SCOPED_TRACE(each.name);
    at::Tensor order;
    AttentionShape shape = complete(each, order);
    shape.threads = 4;
    const AttentionOptions options = options_of(shape);
    const GatTensors gat = gat_tensors(shape, order);
    const Gatv2Tensors gatv2 = gatv2_tensors(shape, order);
    GatOutput made;
    Gatv2Output made2;
    expect_counted(gat_bytes(shape), count([&] { return made = gat_forward(gat, options); }), false);
    expect_counted(gatv2_bytes(shape), count([&] { return made2 = gatv2_forward(gatv2, options); }), false);
    const at::Tensor grad = at::ones_like(made.out);
    const bool edges = each.needs && shape.edge_features > 0;
    expect_counted(gat_backward_bytes(shape, each.needs, edges), count([&] {
                     return gat_backward(grad, {}, gat, made.saved, options, each.needs, each.needs);
                   }),
                   false);
    expect_counted(gatv2_backward_bytes(shape, each.needs, edges), count([&] {
                     return gatv2_backward(grad, {}, gatv2, made2.saved, options, each.needs, each.needs);
                   }),
                   false);
  }
}

// The layers exist for this: kept tensors and scratch, without the sums of weights, stay small.
TEST_F(AttentionBytesTest, NothingIsOfTheSizeOfEdgesTimesChannels) {
  for (const bool large : {false, true}) {
    const Edges edges = large ? Edges(1, 9000, 40000) : Edges(300, 30, 130);
    Case each{"", {.features = 24, .edge_features = 11, .heads = 8, .channels = 32, .loops = true}, edges};
    at::Tensor order;
    const AttentionShape shape = complete(each, order);
    const int64_t n_hd = shape.targets * 256 * 4;
    const int64_t n_h = shape.targets * 8 * 4;
    const int64_t e_h = (shape.edges + shape.targets) * 8 * 4;
    const int64_t e_hd = shape.edges * 256 * 4;
    // Sums of weights by groups, the gradients of scores, and the edges by source.
    const int64_t weights = 17 * 256 * (24 + 2 + 11 + 3) * 4;
    const int64_t beside =
        weights + 2 * n_h + 12 * (shape.edges + shape.targets) + (large ? 0 : 600 * 256 * 4);

    EXPECT_LE(gat_bytes(shape).saved, n_hd + 4 * n_h);
    EXPECT_LE(gatv2_bytes(shape).saved, 2 * n_hd + 4 * n_h);
    EXPECT_LE(gat_backward_bytes(shape, true, true).workspace, 2 * e_h + n_hd + beside);
    EXPECT_LE(gatv2_backward_bytes(shape, true, true).workspace, 2 * e_h + 2 * n_hd + beside);

    const GatTensors gat = gat_tensors(shape, order);
    const Gatv2Tensors gatv2 = gatv2_tensors(shape, order);
    const AttentionOptions options = options_of(shape);
    const GatOutput made = gat_forward(gat, options);
    const Gatv2Output made2 = gatv2_forward(gatv2, options);
    const at::Tensor grad = at::ones_like(made.out);
    for (const Counted& counted :
         {count([&] { return gat_forward(gat, options); }),
          count([&] { return gatv2_forward(gatv2, options); }),
          count([&] { return gat_backward(grad, {}, gat, made.saved, options, true, true); }),
          count([&] { return gatv2_backward(grad, {}, gatv2, made2.saved, options, true, true); })}) {
      EXPECT_LT(counted.largest, e_hd / 2);
      EXPECT_LE(counted.largest, std::max(n_hd, 2 * e_h));
    }
  }
}

}  // namespace
}  // namespace plimsoll
