// Every call of an operator allocates the same tensors in the same order, and their sizes depend on a few
// counts of the block.

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "ops/aggregate/aggregate.h"
#include "ops/attention/attention_layer.h"
#include "ops/gat/gat_autograd.h"
#include "ops/gatv2/gatv2.h"
#include "ops/linear_losses/linear_losses.h"
#include "ops/neighbour_attention/neighbour_attention.h"
#include "ops/operator.h"
#include "ops/segment/segment.h"
#include "support/allocation_tape.h"

namespace plimsoll {
namespace {

constexpr int64_t kWidth = 12;
constexpr size_t kTerms = 9;

// Graphs with edges and self-loops, as tensors.
struct Block {
  at::Tensor index, ptr, x, edge_attr;
  PieceCount pieces;
  int64_t loops = 0;

  Block(uint64_t seed, const std::vector<int64_t>& sizes, at::ScalarType dtype) {
    std::mt19937_64 random(seed);
    std::vector<int64_t> source, target, starts = {0};
    for (const int64_t nodes : sizes) {
      const auto node = [&] {
        return starts.back() + static_cast<int64_t>(random() % static_cast<uint64_t>(nodes));
      };
      for (uint64_t e = 1 + random() % static_cast<uint64_t>(3 * nodes); e > 0; --e) {
        source.push_back(node());
        target.push_back(random() % 5 == 0 ? starts.back() : random() % 9 == 0 ? source.back() : node());
        loops += source.back() == target.back() ? 1 : 0;
      }
      starts.push_back(starts.back() + nodes);
      pieces.add(nodes);
    }
    pieces.end();
    index = at::stack({at::tensor(source, at::kLong), at::tensor(target, at::kLong)});
    ptr = at::tensor(starts, at::kLong);
    x = at::randn({starts.back(), kWidth}, dtype).set_requires_grad(true);
    edge_attr = at::randn({index.size(1), 3}, dtype).set_requires_grad(true);
  }

  at::Tensor order(bool drop_loops) const {
    return edge_order(index, x.size(0), x.size(0), true, drop_loops, ptr);
  }
  std::array<int64_t, kTerms> terms(bool drop_loops) const {
    const int64_t graphs = ptr.numel() - 1;
    const int64_t nodes = x.size(0);
    const at::Tensor made = order(drop_loops);
    const EdgeOrder view =
        view_edge_order(made.const_data_ptr<int32_t>(), made.numel(), nodes, nodes, index.size(1));
    EXPECT_EQ(view.closed, pieces.closed());
    return {
        1,
        graphs,
        nodes,
        index.size(1),
        loops,
        view.closed ? pieces.largest() : transposed_groups(nodes),
        view.closed ? AttentionRanges::groups_of(pieces.pieces()) : (nodes + kProductRows - 1) / kProductRows,
        view.max_in,
        std::max<int64_t>((graphs + 63) / 64, 1)};
  }
};

class OperatorSequence : public ::testing::TestWithParam<std::tuple<bool, at::ScalarType>> {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    std::mt19937_64 random(7);
    const auto [closed, dtype] = GetParam();
    for (int b = 0; b < 14; ++b) {
      std::vector<int64_t> sizes;
      for (uint64_t g = 2 + random() % (b % 3 == 0 ? 250 : 30); g > 0; --g)
        sizes.push_back(2 + static_cast<int64_t>(random() % (b % 4 == 0 ? 300 : 40)));
      if (!closed)
        sizes[random() % sizes.size()] = kMaxPieceNodes + 1 + static_cast<int64_t>(random() % 4000);
      blocks_.emplace_back(static_cast<uint64_t>(b), sizes, dtype);
    }
  }

  // Runs `work`, which returns a result of x and perhaps of other inputs, and runs its gradient.
  void expect_planned(bool drop_loops, const std::function<at::Tensor(const Block&)>& work,
                      const std::vector<at::Tensor>& parameters = {}, bool of_edges = false) {
    std::vector<TapeOf<kTerms>> tapes;
    for (const Block& block : blocks_) {
      const auto run = [&] {
        std::vector<at::Tensor> inputs = parameters;
        inputs.push_back(block.x);
        if (of_edges) inputs.push_back(block.edge_attr);
        const at::Tensor out = work(block);
        torch::autograd::grad({out}, inputs, {at::ones_like(out)});
      };
      if (tapes.empty()) run();  // The first run allocates what torch allocates once.
      tapes.push_back({block.terms(drop_loops), AllocationTape::record(run)});
    }
    expect_affine(tapes);
  }

  at::Tensor parameter(at::IntArrayRef shape) const {
    return at::randn(shape, std::get<1>(GetParam())).set_requires_grad(true);
  }

  std::vector<Block> blocks_;
};

TEST_P(OperatorSequence, OfAttentionIsTheSameForEveryBlock) {
  for (int bits = 0; bits < 16; ++bits) {
    const bool edges = (bits & 1) != 0;
    const AttentionOptions options{.heads = 2,
                                   .loops = (bits & 4) != 0,
                                   .dropout = (bits & 8) != 0 ? 0.3 : 0.0,
                                   .keep_projection = (bits & 2) != 0,
                                   .return_attention = (bits & 3) == 3};
    if (!std::get<0>(GetParam()) && bits % 3 != 0 && std::getenv("PLIMSOLL_SLOW") == nullptr) continue;
    SCOPED_TRACE(bits);
    const auto fill = [&](AttentionTensors& in, const Block& block, const at::Tensor& weight,
                          const at::Tensor& bias) {
      in.x = block.x;
      in.weight = weight;
      in.order = block.order(options.loops);
      if (edges) in.edge_attr = block.edge_attr;
      in.bias = bias;
      in.seed = at::zeros({3}, at::kLong);
    };
    const at::Tensor weight = parameter({8, kWidth});
    const at::Tensor bias = parameter({8});
    const at::Tensor att = parameter({2, 4});
    const at::Tensor att_target = parameter({2, 4});
    const at::Tensor of_edges = edges ? parameter({3, 2}) : at::Tensor();
    std::vector<at::Tensor> parameters = {weight, bias, att, att_target};
    if (edges) parameters.push_back(of_edges);
    const auto gat_work = [&](const Block& block) {
      GatTensors in;
      fill(in, block, weight, bias);
      in.att_source = att;
      in.att_target = att_target;
      in.q = of_edges;
      return gat(in, options).first;
    };
    expect_planned(options.loops, gat_work, parameters, edges);
    for (const bool share : {false, true}) {
      const at::Tensor target_weight = share ? at::Tensor() : parameter({8, kWidth});
      const at::Tensor target_bias = share ? at::Tensor() : parameter({8});
      const at::Tensor edge_weight = edges ? parameter({3, 8}) : at::Tensor();
      parameters = {weight, bias, att};
      for (const at::Tensor& each : {target_weight, target_bias, edge_weight})
        if (each.defined()) parameters.push_back(each);
      const auto gatv2_work = [&](const Block& block) {
        Gatv2Tensors in;
        fill(in, block, weight, bias);
        in.weight_bias = bias;
        in.target_weight = target_weight;
        in.target_bias = target_bias;
        in.att = att;
        in.edge_weight = edge_weight;
        return gatv2(in, options).first;
      };
      expect_planned(options.loops, gatv2_work, parameters, edges);
    }
  }
}

TEST_P(OperatorSequence, OfNeighbourAttentionIsTheSameForEveryBlock) {
  const at::Tensor att = parameter({2, kWidth / 2});
  const auto attend = [](const Block& block, const at::Tensor& value, const at::Tensor& given) {
    return neighbour_attention(
        {.key = block.x, .value = value, .query = block.x, .order = block.order(false), .att = given}, 2,
        0.2);
  };
  expect_planned(false, [&](const Block& block) { return attend(block, {}, att).out; }, {att});
  expect_planned(false, [&](const Block& block) {
    const NeighbourAttentionOutput result = attend(block, block.x, {});
    return at::cat({result.out, result.log_sum}, 1);
  });
}

TEST_P(OperatorSequence, OfSumsIsTheSameForEveryBlock) {
  const at::Tensor weight = parameter({kWidth});
  for (const bool drop : {false, true})
    expect_planned(drop, [&](const Block& block) {
      const at::Tensor scale = at::ones({block.x.size(0)}, block.x.options());
      return aggregate(block.x, block.order(drop), scale, scale);
    });
  for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max})
    expect_planned(false, [&](const Block& block) { return segment_reduce(block.x, block.ptr, reduce); });
  expect_planned(false, [](const Block& block) { return segment_softmax(block.x, block.ptr); });
  expect_planned(false, [](const Block& block) {
    using GatherCsr = at::Tensor(const at::Tensor&, const at::Tensor&, c10::SymInt);
    static const auto gather_csr = find_operator<GatherCsr>("plimsoll::gather_csr");
    return gather_csr.call(segment_reduce(block.x, block.ptr, Reduce::sum), block.ptr, block.x.size(0));
  });
  // Inputs that are not contiguous are copied.
  expect_planned(false,
                 [](const Block& block) { return segment_softmax(block.x.slice(1, 2, 9), block.ptr); });
  expect_planned(
      false, [&](const Block& block) { return graph_norm(block.x, block.ptr, weight, weight, weight, 1e-5); },
      {weight});
}

// Only the logits of a tile are allocated: nothing has the size nodes x classes.
TEST_P(OperatorSequence, OfLossesOverManyClassesIsTheSameForEveryBlock) {
  constexpr int64_t kClasses = 300;
  const at::Tensor weight = parameter({kClasses, kWidth});
  const at::Tensor bias = parameter({kClasses});
  expect_planned(false,
                 [&](const Block& block) {
                   return linear_cross_entropy(block.x, weight, bias, at::arange(block.x.size(0)) % kClasses);
                 },
                 {weight, bias});
  expect_planned(false,
                 [&](const Block& block) {
                   const int64_t nodes = block.x.size(0);
                   return linear_multilabel_bce(block.x, weight, bias, at::arange(nodes + 1),
                                                at::arange(nodes) % kClasses);
                 },
                 {weight, bias});
}

// As on a device, tensors that are made in the workspace are also freed in it.
TEST_P(OperatorSequence, OfLossesOnADeviceIsTheSameForEveryBlock) {
  constexpr int64_t kClasses = 300;
  const at::NoGradGuard guard;
  const at::Tensor weight = parameter({kClasses, kWidth});
  const at::Tensor bias = parameter({kClasses});
  std::vector<AllocationTape::Events> tapes;
  for (const Block& block : blocks_) {
    const at::Tensor classes = at::arange(block.x.size(0)) % kClasses;
    const at::Tensor ptr = at::arange(block.x.size(0) + 1);
    tapes.push_back(AllocationTape::record([&] {
      linear_cross_entropy_both_on_device(block.x, weight, bias, classes);
      linear_multilabel_bce_both_on_device(block.x, weight, bias, ptr, classes);
    }));
    EXPECT_EQ(tapes.back().size(), tapes.front().size());
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, OperatorSequence,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(at::kFloat, at::kDouble)),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param) ? "Closed" : "Open") +
                                  c10::toString(std::get<1>(each.param));
                         });

}  // namespace
}  // namespace plimsoll
