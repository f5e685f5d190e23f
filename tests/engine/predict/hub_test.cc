#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/blocks/collate.h"
#include "engine/plan/warm_up.h"
#include "engine/predict/full_neighbours.h"
#include "engine/predict/piece_memory.h"
#include "memory/ledger.h"
#include "support/giant_graph.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

// Hubs with three chunks and with two; one hub is the last node. The first hub has a self-loop in its last
// chunk. The second hub's self-loop is the only edge of its chunk, so the chunk has no edges if self-loops
// are left out.
constexpr int64_t kHubNodes = 40'000;
constexpr int64_t kHubFeatures = 6;
constexpr int64_t kFirstHub = 39'000;
constexpr int64_t kLastHub = kHubNodes - 1;

GiantGraph graph_with_hubs() {
  std::vector<std::set<int64_t>> lists(kHubNodes);
  std::mt19937 random(5);
  for (std::set<int64_t>& list : lists)
    for (int i = 0; i < 3; ++i) list.insert(static_cast<int64_t>(random() % kHubNodes));
  for (int64_t node = 0; node < 2 * kPieceEdges + 5'000; ++node) lists[kFirstHub].insert(node);
  lists[kFirstHub].insert(kFirstHub);
  lists[kLastHub].clear();
  for (int64_t node = 0; node < kPieceEdges; ++node) lists[kLastHub].insert(2 * node);
  lists[kLastHub].insert(kLastHub);
  return GiantGraph(lists);
}

struct HubCase {
  ConvKind conv = ConvKind::gcn;
  bool edge_weight = false;
  int64_t edge_features = 0;
  NormKind norm = NormKind::none;
};

class HubTest : public testing::TestWithParam<HubCase> {
 protected:
  static void SetUpTestSuite() { warm_up_torch(2); }

  HubTest() : lists_(graph_with_hubs()), model_(model_options(), 1) {
    std::mt19937 random(7);
    const auto numbers = [&](size_t count) {
      std::vector<float> values(count);
      for (float& value : values) value = static_cast<float>(random() % 1000) / 500 - 1;
      return values;
    };
    const auto edges = lists_.indices.size();
    block_.clear();
    block_.x.resize(kHubNodes * kHubFeatures);
    std::ranges::copy(numbers(block_.x.size()), block_.x.begin());
    block_.edge_attr.resize(edges * static_cast<size_t>(edge_width()));
    std::ranges::copy(numbers(block_.edge_attr.size()), block_.edge_attr.begin());
    // Degrees are sums of weights, which must not be negative.
    if (GetParam().edge_weight)
      for (float& weight : block_.edge_attr) weight = weight * weight;
    GraphWriter writer(folder(), false);
    writer.append_row_ends(std::span(lists_.indptr).subspan(1));
    writer.append_indices(std::span<const int64_t>(lists_.indices));
    writer.append_x(block_.x, kHubFeatures);
    if (GetParam().edge_weight) writer.append_edge_weight(block_.edge_attr);
    if (GetParam().edge_features > 0) writer.append_edge_attr(block_.edge_attr, GetParam().edge_features);
    writer.publish({.direction = EdgeDirection::in}, make_provenance("made up", {}));
  }
  ~HubTest() override { Ledger::process().set_cap(Ledger::kUnlimited); }

  std::filesystem::path folder() const { return folder_ / "graph"; }
  static int64_t edge_width() { return GetParam().edge_weight ? 1 : GetParam().edge_features; }
  static GnnOptions model_options() {
    return {.conv = GetParam().conv,
            .in_features = kHubFeatures,
            .edge_features = GetParam().edge_features,
            .edge_weight = GetParam().edge_weight,
            .layers = 2,
            .hidden = 8,
            .heads = 2,
            .norm = GetParam().norm,
            .classes = 3,
            .node_head = true};
  }

  // The logits of all nodes, from one pass over the whole graph.
  at::Tensor in_one_piece() {
    const c10::AutoGradMode no_gradients(false);
    block_.graph.push_back(0);
    block_.node_ptr.push_back(kHubNodes);
    block_.edge_ptr.push_back(std::ssize(lists_.indices));
    block_.y.push_back(0);
    block_.node_y.resize(kHubNodes, 0);
    for (int64_t edge = 0; edge < std::ssize(lists_.indices); ++edge) {
      block_.edges.push_back(static_cast<int32_t>(lists_.indices[static_cast<size_t>(edge)]));
      block_.edges.push_back(static_cast<int32_t>(lists_.owner(edge)));
    }
    CollateOptions options = model_.collate_options();
    options.layers = 0;
    const Batch batch =
        collate(block_, {.node_features = kHubFeatures, .edge_features = edge_width()}, options);
    Batch whole = batch;
    if (GetParam().conv == ConvKind::gcn) whole.degrees = degrees();
    return model_.apply_head(model_.embed(whole, {}));
  }
  at::Tensor degrees() const {
    at::Tensor degrees = at::zeros({kHubNodes}, at::kFloat);
    for (size_t edge = 0; edge < lists_.indices.size(); ++edge) {
      const int64_t target = lists_.owner(static_cast<int64_t>(edge));
      if (lists_.indices[edge] != target)
        degrees.mutable_data_ptr<float>()[target] += GetParam().edge_weight ? block_.edge_attr[edge] : 1;
    }
    return degrees;
  }
  std::vector<float> in_pieces(int threads) const {
    const GraphView graph(folder());
    DiskTopology topology(graph, {},
                          {.weight = GetParam().edge_weight, .features = GetParam().edge_features > 0});
    std::vector<int64_t> nodes = {0, 1, 17, 20'000, kFirstHub - 1, kFirstHub, kFirstHub + 1, kLastHub};
    std::vector<float> logits(nodes.size() * 3);
    predict_nodes(graph, topology, model_, nodes, {.scratch = folder_.path(), .memory = {.threads = threads}},
                  logits);
    return logits;
  }

  TempFolder folder_;
  const GiantGraph lists_;
  GraphBlock block_;
  const Gnn model_;
};

TEST_P(HubTest, ChunksGiveTheResultOfOnePiece) {
  const at::Tensor whole = in_one_piece();
  const std::vector<float> found = in_pieces(2);
  const std::vector<int64_t> nodes = {0, 1, 17, 20'000, kFirstHub - 1, kFirstHub, kFirstHub + 1, kLastHub};
  for (size_t i = 0; i < nodes.size(); ++i)
    for (int64_t k = 0; k < 3; ++k) {
      const float expected = whole[nodes[i]][k].item<float>();
      EXPECT_NEAR(found[3 * i + static_cast<size_t>(k)], expected, 3e-5 * std::max(1.F, std::abs(expected)))
          << "node " << nodes[i];
    }
}

TEST_P(HubTest, BitsDependNeitherOnThreadsNorOnTheBudget) {
  const std::vector<float> expected = in_pieces(1);
  Ledger& ledger = Ledger::process();
  for (const int threads : {1, 3})
    for (const int64_t bytes : {8'000'000, 16'000'000, 40'000'000}) {
      ledger.set_cap(ledger.held() + bytes);
      EXPECT_EQ(in_pieces(threads), expected) << threads << " threads, " << bytes << " bytes";
      ledger.set_cap(Ledger::kUnlimited);
    }
}

TEST_P(HubTest, LargestPieceHasNoMoreEdgesThanAChunk) {
  const GraphView graph(folder());
  const DiskTopology topology(graph);
  const Pieces pieces = cut_pieces(topology);
  EXPECT_EQ(pieces.largest.edges, kPieceEdges);
  EXPECT_EQ(pieces.largest.max_in, kPieceEdges);
  int64_t chunks = 0, done = 0;
  for (int64_t number = 0; number < pieces.count(); ++number) {
    const Piece piece = pieces.at(number);
    EXPECT_EQ(piece.begin, done);
    if (piece.is_last_chunk()) done = piece.end;
    if (!piece.is_chunk()) continue;
    ++chunks;
    EXPECT_EQ(piece.chunks, piece.begin == kFirstHub ? 3 : 2);
  }
  EXPECT_EQ(done, kHubNodes);
  EXPECT_EQ(chunks, 5);
}

INSTANTIATE_TEST_SUITE_P(Convs, HubTest,
                         testing::Values(HubCase{ConvKind::gcn}, HubCase{ConvKind::gcn, true},
                                         HubCase{ConvKind::gin}, HubCase{ConvKind::gin, true},
                                         HubCase{ConvKind::sage}, HubCase{ConvKind::sage, true},
                                         HubCase{ConvKind::gat}, HubCase{ConvKind::gat, false, 3},
                                         HubCase{ConvKind::gatv2}, HubCase{ConvKind::gatv2, false, 3},
                                         HubCase{ConvKind::sage, false, 0, NormKind::batch}),
                         [](const auto& tested) {
                           return std::string(word_of(tested.param.conv)) +
                                  (tested.param.edge_weight ? "Weighted" : "") +
                                  (tested.param.edge_features > 0 ? "EdgeFeatures" : "") +
                                  (tested.param.norm == NormKind::batch ? "BatchNorm" : "");
                         });

}  // namespace
}  // namespace plimsoll
