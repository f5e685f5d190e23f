#include "engine/predict/needed_pieces.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/warm_up.h"
#include "engine/predict/full_neighbours.h"
#include "memory/ledger.h"
#include "support/giant_graph.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

constexpr int64_t kRingNodes = 40 * kPieceTargets;
constexpr int64_t kRingFeatures = 4;

// A node has edges from the nodes before it, some of them in the previous piece, and from one hub in the
// middle.
GiantGraph ring_with_hub() {
  std::vector<std::set<int64_t>> lists(kRingNodes);
  for (int64_t node = 0; node < kRingNodes; ++node)
    for (const int64_t back : {1, 3, 700})
      lists[static_cast<size_t>(node)].insert((node - back + kRingNodes) % kRingNodes);
  std::set<int64_t>& hub = lists[20 * kPieceTargets + 5];
  for (int64_t node = 18 * kPieceTargets; node < 35 * kPieceTargets; ++node) hub.insert(node);
  return GiantGraph(lists);
}

std::vector<int64_t> members(const NeededPieces& pieces) {
  std::vector<int64_t> all;
  for (int64_t number = pieces->next(0); number != RowSet::kNone; number = pieces->next(number + 1))
    all.push_back(number);
  return all;
}

TEST(NeededPieces, EarlierLayersNeedTheSourcesOfLaterOnes) {
  const GiantGraph graph = ring_with_hub();
  const CsrTopology topology = graph.topology();
  const Pieces pieces = cut_pieces(topology);
  // The first node of piece 3: all of its sources are in piece 2.
  const std::vector<int64_t> nodes = {3 * kPieceTargets};
  const auto needed = needed_pieces(topology, pieces, nodes, 3);
  EXPECT_EQ(members(needed[2]), std::vector<int64_t>({3}));
  EXPECT_EQ(members(needed[1]), std::vector<int64_t>({2, 3}));
  // The node 1,400 before is in piece 1.
  EXPECT_EQ(members(needed[0]), std::vector<int64_t>({1, 2, 3}));
}

TEST(NeededPieces, HubNeedsAllItsChunks) {
  const GiantGraph graph = ring_with_hub();
  const CsrTopology topology = graph.topology();
  const Pieces pieces = cut_pieces(topology);
  const std::vector<int64_t> nodes = {20 * kPieceTargets + 5};
  const auto needed = needed_pieces(topology, pieces, nodes, 2);
  // Piece 20 has the five nodes before the hub.
  EXPECT_EQ(members(needed[1]), std::vector<int64_t>({21, 22}));
  ASSERT_TRUE(pieces.at(21).is_chunk());
  // Nodes 18 * kPieceTargets .. 35 * kPieceTargets - 1, in pieces 18 .. 37.
  EXPECT_EQ(members(needed[0]).size(), 20U);
}

TEST(NeededPieces, MostPiecesAreAll) {
  const GiantGraph graph = ring_with_hub();
  const CsrTopology topology = graph.topology();
  const Pieces pieces = cut_pieces(topology);
  std::vector<int64_t> nodes;
  for (int64_t node = 0; node < 35 * kPieceTargets; node += 100) nodes.push_back(node);
  for (const NeededPieces& layer : needed_pieces(topology, pieces, nodes, 2)) EXPECT_FALSE(layer.has_value());
}

TEST(NeededPieces, AllIfTheSetsDoNotFit) {
  const GiantGraph graph = ring_with_hub();
  const CsrTopology topology = graph.topology();
  const Pieces pieces = cut_pieces(topology);
  Ledger& ledger = Ledger::process();
  ledger.set_cap(ledger.held() + 1'000);
  const auto needed = needed_pieces(topology, pieces, std::vector<int64_t>{0}, 2);
  ledger.set_cap(Ledger::kUnlimited);
  for (const NeededPieces& layer : needed) EXPECT_FALSE(layer.has_value());
}

class SomeNodesTest : public testing::TestWithParam<ConvKind> {
 protected:
  static void SetUpTestSuite() { warm_up_torch(2); }

  SomeNodesTest() {
    const GiantGraph graph = ring_with_hub();
    GraphWriter writer(folder_ / "graph", false);
    writer.append_row_ends(std::span(graph.indptr).subspan(1));
    writer.append_indices(std::span<const int64_t>(graph.indices));
    std::mt19937 random(7);
    std::vector<float> x(kRingNodes * kRingFeatures);
    for (float& value : x) value = static_cast<float>(random() % 1000) / 500 - 1;
    writer.append_x(x, kRingFeatures);
    writer.publish({.direction = EdgeDirection::in}, make_provenance("made up", {}));
  }
  ~SomeNodesTest() override { Ledger::process().set_cap(Ledger::kUnlimited); }

  std::vector<float> predict(std::span<const int64_t> nodes) {
    const GraphView graph(folder_ / "graph");
    DiskTopology topology(graph);
    const Gnn model({.conv = GetParam(),
                     .in_features = kRingFeatures,
                     .layers = 2,
                     .hidden = 8,
                     .jk = LayerJoin::cat,
                     .classes = 3,
                     .node_head = true},
                    1);
    std::vector<float> logits(nodes.size() * 3);
    predict_nodes(graph, topology, model, nodes, {.scratch = folder_.path(), .memory = {.threads = 2}},
                  logits);
    return logits;
  }

  TempFolder folder_;
};

TEST_P(SomeNodesTest, HaveTheBitsOfAllNodes) {
  std::vector<int64_t> all(kRingNodes);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<float> expected = predict(all);
  const std::vector<int64_t> some = {kRingNodes - 1,         5,     20 * kPieceTargets + 5,
                                     20 * kPieceTargets + 6, 7'000, 9 * kPieceTargets};
  for (const int64_t bytes : {int64_t{0}, int64_t{9'000'000}}) {
    Ledger& ledger = Ledger::process();
    if (bytes > 0) ledger.set_cap(ledger.held() + bytes);
    const std::vector<float> found = predict(some);
    ledger.set_cap(Ledger::kUnlimited);
    for (size_t i = 0; i < some.size(); ++i)
      for (size_t k = 0; k < 3; ++k)
        EXPECT_EQ(found[3 * i + k], expected[3 * static_cast<size_t>(some[i]) + k]) << some[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Convs, SomeNodesTest,
                         testing::Values(ConvKind::gcn, ConvKind::sage, ConvKind::gatv2));

}  // namespace
}  // namespace plimsoll
