#include "sample/seeds/negative_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "support/chi_square.h"
#include "support/errors.h"
#include "support/giant_graph.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr NegativeOptions kAll[] = {{true, false}, {true, true}, {false, false}, {false, true}};

bool is_allowed(const GiantGraph& graph, const NegativeOptions& options, int64_t node, int64_t neighbour) {
  return (options.self_loops || node != neighbour) &&
         (!options.avoid_existing || !graph.has_edge(node, neighbour));
}

// Node 0 lacks one neighbour other than itself, node 2 has itself as a neighbour, the last has no neighbours.
GiantGraph dense_graph() {
  return GiantGraph({{1, 2, 4}, {0}, {2, 3}, {0, 1, 4}, {}});
}

TEST(NegativeEdges, UniformPairsAreAllowedAndAsLikely) {
  const GiantGraph graph = dense_graph();
  const CsrTopology topology = graph.topology();
  for (const NegativeOptions& options : kAll) {
    std::map<std::pair<int64_t, int64_t>, int64_t> counts;
    for (int64_t a = 0; a < 5; ++a)
      for (int64_t b = 0; b < 5; ++b)
        if (is_allowed(graph, options, a, b)) counts[{a, b}] = 0;
    const size_t pairs = 1000 * counts.size();
    std::vector<int64_t> nodes(pairs);
    std::vector<int64_t> neighbours(pairs);
    NegativeEdges(topology, options, 3).uniform(0, 1, nodes, neighbours);
    for (size_t i = 0; i < pairs; ++i) {
      ASSERT_TRUE(counts.contains({nodes[i], neighbours[i]})) << nodes[i] << " " << neighbours[i];
      ++counts[{nodes[i], neighbours[i]}];
    }
    std::vector<int64_t> found;
    for (const auto& [pair, count] : counts) found.push_back(count);
    EXPECT_LT(chi_square_deviations(found, std::vector<double>(found.size(), 1000)), 5);
  }
}

TEST(NegativeEdges, StructuredNeighboursAreAllowedAndAsLikely) {
  const GiantGraph graph = dense_graph();
  const CsrTopology topology = graph.topology();
  for (const NegativeOptions& options : kAll)
    for (int64_t node = 0; node < 5; ++node) {
      std::map<int64_t, int64_t> counts;
      for (int64_t neighbour = 0; neighbour < 5; ++neighbour)
        if (is_allowed(graph, options, node, neighbour)) counts[neighbour] = 0;
      std::vector<int64_t> edges(1000 * counts.size());
      std::iota(edges.begin(), edges.end(), 0);
      std::vector<int64_t> neighbours(edges.size());
      NegativeEdges(topology, options, 3)
          .structured(std::vector<int64_t>(edges.size(), node), edges, 1, neighbours);
      for (const int64_t neighbour : neighbours) {
        ASSERT_TRUE(counts.contains(neighbour)) << node << " " << neighbour;
        ++counts[neighbour];
      }
      std::vector<int64_t> found;
      for (const auto& [neighbour, count] : counts) found.push_back(count);
      if (found.size() > 1) {
        EXPECT_LT(chi_square_deviations(found, std::vector<double>(found.size(), 1000)), 5);
      }
    }
}

TEST(NegativeEdges, NoneExistsInALargerGraph) {
  const GiantGraph graph = skewed_graph(500, 2);
  const CsrTopology topology = graph.topology();
  std::vector<int64_t> nodes(5000);
  std::vector<int64_t> neighbours(5000);
  NegativeEdges(topology, {}, 3).uniform(0, 1, nodes, neighbours);
  for (size_t i = 0; i < nodes.size(); ++i) EXPECT_TRUE(is_allowed(graph, {}, nodes[i], neighbours[i]));
}

TEST(NegativeEdges, DependOnTheirNumberAlone) {
  const GiantGraph graph = skewed_graph(500, 2);
  const CsrTopology topology = graph.topology();
  NegativeEdges negatives(topology, {}, 3);
  const auto pairs = [&](int64_t first, size_t count, uint32_t epoch) {
    std::vector<int64_t> nodes(count);
    std::vector<int64_t> neighbours(count);
    negatives.uniform(first, epoch, nodes, neighbours);
    nodes.insert(nodes.end(), neighbours.begin(), neighbours.end());
    return nodes;
  };
  const std::vector<int64_t> all = pairs(0, 40, 1);
  const std::vector<int64_t> some = pairs(10, 30, 1);
  EXPECT_EQ(std::vector<int64_t>(all.begin() + 10, all.begin() + 40),
            std::vector<int64_t>(some.begin(), some.begin() + 30));
  EXPECT_NE(all, pairs(0, 40, 2));

  std::vector<int64_t> one(1);
  std::vector<int64_t> two(2);
  negatives.structured(std::vector<int64_t>{8}, std::vector<int64_t>{77}, 1, one);
  negatives.structured(std::vector<int64_t>{9, 8}, std::vector<int64_t>{5, 77}, 1, two);
  EXPECT_EQ(one[0], two[1]);
}

TEST(NegativeEdges, WhatIsExcludedIsDrawnAgainAndTheRestIsAsLikely) {
  const GiantGraph graph = dense_graph();
  const CsrTopology topology = graph.topology();
  const auto excluded = [](int64_t node, int64_t neighbour) { return node == 4 && neighbour < 2; };
  NegativeEdges negatives(topology, {}, 3, excluded);
  std::map<std::pair<int64_t, int64_t>, int64_t> uniform, structured;
  for (int64_t a = 0; a < 5; ++a)
    for (int64_t b = 0; b < 5; ++b)
      if (is_allowed(graph, {}, a, b) && !excluded(a, b)) {
        uniform[{a, b}] = 0;
        if (a == 4) structured[{a, b}] = 0;
      }
  std::vector<int64_t> nodes(1000 * uniform.size());
  std::vector<int64_t> neighbours(nodes.size());
  const auto expect_as_likely = [&](std::map<std::pair<int64_t, int64_t>, int64_t> counts) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      ASSERT_TRUE(counts.contains({nodes[i], neighbours[i]})) << nodes[i] << " " << neighbours[i];
      ++counts[{nodes[i], neighbours[i]}];
    }
    std::vector<int64_t> found;
    for (const auto& [pair, count] : counts) found.push_back(count);
    const auto each = static_cast<double>(nodes.size()) / static_cast<double>(found.size());
    EXPECT_LT(chi_square_deviations(found, std::vector<double>(found.size(), each)), 5);
  };
  negatives.uniform(0, 1, nodes, neighbours);
  expect_as_likely(uniform);
  std::ranges::fill(nodes, 4);
  std::vector<int64_t> edges(nodes.size());
  std::iota(edges.begin(), edges.end(), 0);
  negatives.structured(nodes, edges, 1, neighbours);
  expect_as_likely(structured);
}

// The draws equal those of the first version, so that old runs can be continued.
TEST(NegativeEdges, OfASparseGraphAreTheSameAsEver) {
  const GiantGraph graph = skewed_graph(500, 2);
  const CsrTopology topology = graph.topology();
  NegativeEdges negatives(topology, {}, 3, [](int64_t a, int64_t b) { return (a * 7 + b) % 5 == 0; });
  std::vector<int64_t> nodes(2000);
  std::vector<int64_t> neighbours(2000);
  negatives.uniform(0, 1, nodes, neighbours);
  Hasher hasher;
  for (const auto* column : {&nodes, &neighbours}) hasher.add(std::span<const int64_t>(*column));
  std::vector<int64_t> edges(2000);
  std::iota(edges.begin(), edges.end(), 0);
  for (int64_t& node : nodes) node %= 500;
  negatives.structured(nodes, edges, 1, neighbours);
  hasher.add(std::span<const int64_t>(neighbours));
  EXPECT_EQ(hasher.hex64(), "8aeed093ed547d57");
}

// All pairs of `nodes` nodes except for `missing` (node, neighbour).
GiantGraph nearly_complete(int64_t nodes, const std::set<std::pair<int64_t, int64_t>>& missing) {
  std::vector<std::set<int64_t>> lists(static_cast<size_t>(nodes));
  for (int64_t v = 0; v < nodes; ++v)
    for (int64_t u = 0; u < nodes; ++u)
      if (u != v && !missing.contains({v, u})) lists[static_cast<size_t>(v)].insert(u);
  return GiantGraph(lists);
}

// One pair in 40,000 is allowed: random draws alone would need about that many rounds.
TEST(NegativeEdges, AreFoundWhereNearlyAllPairsAreEdges) {
  const std::set<std::pair<int64_t, int64_t>> missing = {{3, 190}, {77, 0}, {77, 199}, {150, 149}, {199, 5}};
  const GiantGraph graph = nearly_complete(200, missing);
  const CsrTopology topology = graph.topology();
  const auto excluded = [](int64_t node, int64_t neighbour) { return node == 150 && neighbour == 149; };
  NegativeEdges negatives(topology, {}, 3, excluded);
  std::vector<int64_t> nodes(400);
  std::vector<int64_t> neighbours(nodes.size());
  negatives.uniform(0, 1, nodes, neighbours);
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (size_t i = 0; i < nodes.size(); ++i) {
    ASSERT_TRUE(missing.contains({nodes[i], neighbours[i]}) && !excluded(nodes[i], neighbours[i]))
        << nodes[i] << " " << neighbours[i];
    ++counts[{nodes[i], neighbours[i]}];
  }
  std::vector<int64_t> found;
  for (const auto& [pair, count] : counts) found.push_back(count);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_LT(chi_square_deviations(found, std::vector<double>(4, 100)), 5);

  std::vector<int64_t> again_nodes(10);
  std::vector<int64_t> again(again_nodes.size());
  negatives.uniform(300, 1, again_nodes, again);
  EXPECT_EQ(again_nodes, std::vector<int64_t>(nodes.begin() + 300, nodes.begin() + 310));
  EXPECT_EQ(again, std::vector<int64_t>(neighbours.begin() + 300, neighbours.begin() + 310));
}

// A graph of 2,000 nodes in which all neighbours of a node except one are excluded.
TEST(NegativeEdges, AreFoundOfANodeWithHardlyAny) {
  const GiantGraph empty(std::vector<std::set<int64_t>>(2000));
  const CsrTopology topology = empty.topology();
  NegativeEdges negatives(topology, {}, 3,
                          [](int64_t node, int64_t neighbour) { return node == 7 && neighbour != 1234; });
  std::vector<int64_t> edges(50);
  std::iota(edges.begin(), edges.end(), 0);
  std::vector<int64_t> neighbours(edges.size());
  negatives.structured(std::vector<int64_t>(edges.size(), 7), edges, 1, neighbours);
  EXPECT_EQ(neighbours, std::vector<int64_t>(edges.size(), 1234));
}

TEST(NegativeEdges, RefuseAGraphWhoseOtherPairsAreExcluded) {
  const GiantGraph graph = nearly_complete(40, {{1, 2}, {2, 1}, {30, 7}, {7, 30}});
  const CsrTopology topology = graph.topology();
  NegativeEdges negatives(topology, {}, 3, [](int64_t node, int64_t neighbour) {
    return node + neighbour == 3 || node + neighbour == 37;
  });
  std::vector<int64_t> out(1);
  EXPECT_THAT(error_text<UsageError>([&] { negatives.uniform(0, 1, out, out); }),
              AllOf(HasSubstr("all pairs of the 40 nodes have an edge"), HasSubstr("remove some edges")));
}

TEST(NegativeEdges, CountingAllPairsEndsAtASignal) {
  const GiantGraph graph = nearly_complete(40, {{1, 2}});
  const CsrTopology topology = graph.topology();
  NegativeEdges negatives(topology, {}, 3, [](int64_t, int64_t) { return true; });
  std::vector<int64_t> out(1);
  interrupt_requested = true;
  EXPECT_THROW(negatives.uniform(0, 1, out, out), Interrupted);
  interrupt_requested = false;
}

TEST(NegativeEdges, RefuseAGraphOrNodeWithoutAny) {
  const GiantGraph complete({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}});
  EXPECT_THAT(error_text<UsageError>([&] { NegativeEdges(complete.topology(), {}, 1); }),
              HasSubstr("found 9 edges between 3 nodes"));
  const GiantGraph graph({{1, 2}, {}, {}});
  const CsrTopology topology = graph.topology();
  std::vector<int64_t> out(1);
  EXPECT_THAT(
      error_text<UsageError>([&] {
        NegativeEdges(topology, {}, 1).structured(std::vector<int64_t>{0}, std::vector<int64_t>{0}, 1, out);
      }),
      HasSubstr("node 0 has edges to all 3 nodes"));
  const GiantGraph empty({{}, {}, {}});
  const CsrTopology without = empty.topology();
  NegativeEdges none(without, {}, 1, [](int64_t, int64_t) { return true; });
  EXPECT_THAT(error_text<UsageError>(
                  [&] { none.structured(std::vector<int64_t>{0}, std::vector<int64_t>{0}, 1, out); }),
              HasSubstr("node 0 has edges to all 3 nodes"));
}

}  // namespace
}  // namespace plimsoll
