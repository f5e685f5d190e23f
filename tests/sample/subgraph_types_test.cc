#include "sample/neighbour/subgraph_types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "support/giant_graph.h"

namespace plimsoll {
namespace {

using Edge = std::tuple<int64_t, int64_t, int64_t>;  // col, row and edge.

std::vector<Edge> edges_of(const SampledSubgraph& out) {
  std::vector<Edge> edges;
  for (size_t i = 0; i < out.edge.size(); ++i) edges.emplace_back(out.col[i], out.row[i], out.edge[i]);
  return edges;
}

SampledSubgraph sample(const GiantGraph& graph, SubgraphType type, bool disjoint) {
  SampledSubgraph out;
  const CsrTopology topology = graph.topology();
  NeighbourSampler(topology, {.fan_outs = {4, 3}, .disjoint = disjoint, .subgraph = type}, 7)
      .sample(std::vector<int64_t>{1, 5, 8, 30}, 1, out);
  return out;
}

TEST(SubgraphTypes, BidirectionalHasEachEdgeAndItsReverseOnce) {
  const GiantGraph graph = skewed_graph(60, 1);
  for (const bool disjoint : {false, true}) {
    const SampledSubgraph sampled = sample(graph, SubgraphType::directional, disjoint);
    const SampledSubgraph both = sample(graph, SubgraphType::bidirectional, disjoint);
    EXPECT_EQ(both.node, sampled.node);
    EXPECT_TRUE(both.edges_per_hop.empty());
    std::map<std::pair<int64_t, int64_t>, int64_t> expected;
    for (const auto& [col, row, edge] : edges_of(sampled)) expected.emplace(std::pair(col, row), edge);
    for (const auto& [col, row, edge] : edges_of(sampled)) expected.emplace(std::pair(row, col), edge);
    std::vector<Edge> edges;
    for (const auto& [ends, edge] : expected) edges.emplace_back(ends.first, ends.second, edge);
    EXPECT_EQ(edges_of(both), edges);
  }
}

TEST(SubgraphTypes, InducedHasAllEdgesBetweenItsNodes) {
  const GiantGraph graph = skewed_graph(60, 2);
  for (const bool disjoint : {false, true}) {
    const SampledSubgraph sampled = sample(graph, SubgraphType::directional, disjoint);
    const SampledSubgraph induced = sample(graph, SubgraphType::induced, disjoint);
    EXPECT_EQ(induced.node, sampled.node);
    EXPECT_TRUE(induced.edges_per_hop.empty());
    std::vector<Edge> expected;
    for (size_t col = 0; col < induced.node.size(); ++col)
      for (int64_t edge = 0; edge < static_cast<int64_t>(graph.indices.size()); ++edge)
        for (size_t row = 0; row < induced.node.size(); ++row)
          if (graph.owner(edge) == induced.node[col] &&
              graph.indices[static_cast<size_t>(edge)] == induced.node[row] &&
              (!disjoint || induced.batch[row] == induced.batch[col]))
            expected.emplace_back(col, row, edge);
    EXPECT_EQ(edges_of(induced), expected);
  }
}

// The list is longer than one read.
TEST(SubgraphTypes, InducedGoesThroughLongLists) {
  const GiantGraph graph = star(10'000);
  SampledSubgraph out;
  NodeIdMap table;
  table.begin(out.node, out.batch, /*disjoint=*/false);
  for (const int64_t node : {10'000, 0, 3}) table.find_or_add(node, 0);
  PredictedEdges none;
  induce(graph.topology(), table, none, out);
  EXPECT_EQ(edges_of(out), (std::vector<Edge>{{1, 2, 2}, {1, 0, 9999}}));
}

}  // namespace
}  // namespace plimsoll
