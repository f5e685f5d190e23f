#include "sample/neighbour/neighbour_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "base/workers.h"
#include "support/chi_square.h"
#include "support/errors.h"
#include "support/giant_graph.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Columns = std::vector<SampledSubgraph::Column>;

constexpr int64_t kNodes = 400;

Columns columns_of(const SampledSubgraph& out) {
  return {out.row, out.col, out.node, out.edge, out.batch, out.nodes_per_hop, out.edges_per_hop};
}

SampledSubgraph sample(const GiantGraph& graph, const NeighbourOptions& options, std::vector<int64_t> seeds,
                       uint32_t epoch = 1) {
  SampledSubgraph out;
  const CsrTopology topology = graph.topology();
  NeighbourSampler(topology, options, 7).sample(seeds, epoch, out);
  return out;
}

std::vector<int64_t> numbers(int64_t first, int64_t end) {
  std::vector<int64_t> list(static_cast<size_t>(end - first));
  std::iota(list.begin(), list.end(), first);
  return list;
}

// Expects each edge to exist in the graph between the nodes that its two numbers stand for.
void expect_true_edges(const GiantGraph& graph, const SampledSubgraph& out) {
  ASSERT_EQ(out.row.size(), out.edge.size());
  ASSERT_EQ(out.col.size(), out.edge.size());
  for (size_t i = 0; i < out.edge.size(); ++i) {
    const auto row = static_cast<size_t>(out.row[i]);
    const auto col = static_cast<size_t>(out.col[i]);
    ASSERT_EQ(graph.indices[static_cast<size_t>(out.edge[i])], out.node[row]);
    ASSERT_EQ(graph.owner(out.edge[i]), out.node[col]);
    ASSERT_EQ(out.batch.size(), out.node.size());
  }
}

TEST(NeighbourSampler, AFullFanOutIsTheNeighbourhood) {
  const GiantGraph graph = skewed_graph(kNodes, 1);
  const std::vector<int64_t> seeds = {300, 399, 6};
  const SampledSubgraph out = sample(graph, {.fan_outs = {-1, -1}}, seeds);
  expect_true_edges(graph, out);

  // The expected order is breadth first, node by node.
  std::vector<int64_t> nodes = seeds;
  std::set<int64_t> seen(seeds.begin(), seeds.end());
  std::vector<int64_t> edges;
  size_t first = 0;
  for (int hop = 0; hop < 2; ++hop) {
    const size_t end = nodes.size();
    for (size_t i = first; i < end; ++i) {
      const auto at = static_cast<size_t>(nodes[i]);
      for (int64_t edge = graph.indptr[at]; edge < graph.indptr[at + 1]; ++edge) {
        edges.push_back(edge);
        const int64_t neighbour = graph.indices[static_cast<size_t>(edge)];
        if (seen.insert(neighbour).second) nodes.push_back(neighbour);
      }
    }
    first = end;
  }
  EXPECT_EQ(std::vector<int64_t>(out.node.begin(), out.node.end()), nodes);
  EXPECT_EQ(std::vector<int64_t>(out.edge.begin(), out.edge.end()), edges);
}

TEST(NeighbourSampler, PartsOfAListAreTheWholeList) {
  const GiantGraph graph = skewed_graph(kNodes, 1);
  const CsrTopology topology = graph.topology();
  NeighbourSampler sampler(topology, {.fan_outs = {-1}}, 7);
  SampledSubgraph out;
  const int64_t first = graph.indptr[1];
  const int64_t degree = graph.degree(1);
  ASSERT_GT(degree, 100);
  std::vector<int64_t> edges;
  for (int64_t begin = 0; begin < degree; begin += 64) {
    const int64_t count = std::min<int64_t>(64, degree - begin);
    sampler.sample_part(1, {first + begin, count}, out);
    expect_true_edges(graph, out);
    EXPECT_EQ(out.node.front(), 1);
    EXPECT_THAT(out.nodes_per_hop, ElementsAre(1, std::ssize(out.node) - 1));
    EXPECT_THAT(out.edges_per_hop, ElementsAre(count));
    edges.insert(edges.end(), out.edge.begin(), out.edge.end());
  }
  EXPECT_EQ(edges, numbers(first, first + degree));
}

TEST(NeighbourSampler, SampledEdgesAreTrueAndDistinctAndCountedByHop) {
  const GiantGraph graph = skewed_graph(kNodes, 2);
  const std::vector<int64_t> fan_outs = {4, 3, 2};
  for (const bool disjoint : {false, true}) {
    const SampledSubgraph out = sample(graph, {.fan_outs = fan_outs, .disjoint = disjoint}, numbers(0, 50));
    expect_true_edges(graph, out);
    const std::set<std::pair<int64_t, int64_t>> distinct = [&] {
      std::set<std::pair<int64_t, int64_t>> pairs;
      for (size_t i = 0; i < out.edge.size(); ++i) pairs.emplace(out.edge[i], out.col[i]);
      return pairs;
    }();
    EXPECT_EQ(distinct.size(), out.edge.size());

    // Nodes of a hop are expanded in the next hop, each to its fan-out or its degree.
    ASSERT_EQ(out.nodes_per_hop.size(), 4U);
    ASSERT_EQ(out.edges_per_hop.size(), 3U);
    EXPECT_EQ(out.nodes_per_hop[0], 50);
    int64_t node = 0;
    int64_t edge = 0;
    for (size_t hop = 0; hop < 3; ++hop) {
      const int64_t end = edge + out.edges_per_hop[hop];
      for (int64_t i = 0; i < out.nodes_per_hop[hop]; ++i, ++node) {
        const int64_t degree = graph.degree(out.node[static_cast<size_t>(node)]);
        for (int64_t j = 0; j < std::min(degree, fan_outs[hop]); ++j, ++edge)
          ASSERT_EQ(out.col[static_cast<size_t>(edge)], node);
      }
      EXPECT_EQ(edge, end);
    }
    EXPECT_EQ(static_cast<size_t>(edge), out.edge.size());
    EXPECT_EQ(static_cast<size_t>(node + out.nodes_per_hop[3]), out.node.size());
  }
}

TEST(NeighbourSampler, ADisjointBatchHasATreeForEachSeed) {
  const GiantGraph graph = skewed_graph(kNodes, 3);
  const SampledSubgraph out = sample(graph, {.fan_outs = {5, 5}, .disjoint = true}, {0, 1, 0});
  std::set<std::pair<int64_t, int64_t>> nodes;
  for (size_t i = 0; i < out.node.size(); ++i) nodes.emplace(out.node[i], out.batch[i]);
  EXPECT_EQ(nodes.size(), out.node.size());
  for (size_t i = 0; i < out.edge.size(); ++i)
    EXPECT_EQ(out.batch[static_cast<size_t>(out.row[i])], out.batch[static_cast<size_t>(out.col[i])]);
  // The seed that occurs twice has the same tree twice.
  const auto edges_of = [&](int64_t tree) {
    std::multiset<int64_t> edges;
    for (size_t i = 0; i < out.edge.size(); ++i)
      if (out.batch[static_cast<size_t>(out.col[i])] == tree) edges.insert(out.edge[i]);
    return edges;
  };
  EXPECT_EQ(edges_of(0), edges_of(2));
  EXPECT_NE(edges_of(0), edges_of(1));
}

TEST(NeighbourSampler, ATreeDoesNotDependOnItsBatch) {
  const GiantGraph graph = skewed_graph(kNodes, 4);
  const NeighbourOptions options{.fan_outs = {4, 4}, .disjoint = true};
  const SampledSubgraph alone = sample(graph, options, {5});
  const SampledSubgraph last = sample(graph, options, {9, 1, 5});
  SampledSubgraph::Column edges;
  for (size_t i = 0; i < last.edge.size(); ++i)
    if (last.batch[static_cast<size_t>(last.col[i])] == 2) edges.push_back(last.edge[i]);
  EXPECT_EQ(edges, alone.edge);
}

TEST(NeighbourSampler, ASeedsOwnNeighboursDoNotDependOnItsBatch) {
  const GiantGraph graph = skewed_graph(kNodes, 4);
  const SampledSubgraph alone = sample(graph, {.fan_outs = {3}}, {5});
  const SampledSubgraph last = sample(graph, {.fan_outs = {3}}, {9, 1, 5});
  EXPECT_EQ(SampledSubgraph::Column(last.edge.end() - 3, last.edge.end()), alone.edge);
}

// Uses all options, in batches that several threads sample at once.
TEST(NeighbourSampler, ThreadsAndOlderBatchesHaveNoInfluence) {
  GiantGraph graph = skewed_graph(kNodes, 5);
  for (size_t i = 0; i < graph.indices.size(); ++i) graph.weights.push_back(static_cast<float>(i % 5));
  const CsrTopology topology = graph.topology();
  for (const NeighbourOptions& options :
       {NeighbourOptions{.fan_outs = {5, 3, 2}}, NeighbourOptions{.fan_outs = {5, 3}, .replace = true},
        NeighbourOptions{.fan_outs = {5, 3}, .weighted = true},
        NeighbourOptions{.fan_outs = {5, 3}, .disjoint = true},
        NeighbourOptions{.fan_outs = {5, 3}, .subgraph = SubgraphType::induced},
        NeighbourOptions{.fan_outs = {5, 3}, .subgraph = SubgraphType::bidirectional}}) {
    const auto batches = [&](int threads) {
      std::vector<Columns> all(20);
      std::vector<NeighbourSampler> samplers(static_cast<size_t>(threads), {topology, options, 7});
      Workers workers(threads);
      workers.run_ordered(20, [&](int64_t item, Turn& turn) {
        SampledSubgraph out;
        samplers[static_cast<size_t>(turn.worker())].sample(numbers(20 * item, 20 * item + 20), 1, out);
        all[static_cast<size_t>(item)] = columns_of(out);
      });
      return all;
    };
    const std::vector<Columns> one = batches(1);
    EXPECT_EQ(one, batches(2));
    EXPECT_EQ(one, batches(4));
  }
}

TEST(NeighbourSampler, BothWidthsOfIndicesGiveTheSame) {
  const GiantGraph graph = skewed_graph(kNodes, 5);
  const std::vector<uint32_t> narrow(graph.indices.begin(), graph.indices.end());
  const CsrTopology topology(graph.indptr, std::span(narrow));
  SampledSubgraph out;
  NeighbourSampler(topology, {.fan_outs = {4, 4}}, 7).sample(numbers(0, 30), 1, out);
  EXPECT_EQ(columns_of(out), columns_of(sample(graph, {.fan_outs = {4, 4}}, numbers(0, 30))));
}

// 10 of 100 neighbours are drawn: each epoch, and each seed that reaches the hub, draws its own 10.
// Hypergeometric: one common neighbour is expected, with a variance of 0.9^2 x 10 / 11.
TEST(NeighbourSampler, EpochsAndSeedsAreIndependent) {
  std::vector<std::set<int64_t>> lists(2000);
  for (int64_t leaf = 1; leaf <= 100; ++leaf) lists[0].insert(leaf);
  for (size_t v = 1000; v < 2000; ++v) lists[v].insert(0);
  const GiantGraph graph(lists);
  const auto hub_edges = [](const SampledSubgraph& out) {
    return std::set<int64_t>(out.edge.end() - 10, out.edge.end());
  };
  const auto shared = [](const std::set<int64_t>& a, const std::set<int64_t>& b) {
    return std::count_if(a.begin(), a.end(), [&](int64_t edge) { return b.contains(edge); });
  };
  int64_t of_epochs = 0;
  int64_t of_seeds = 0;
  for (int64_t seed = 1000; seed < 2000; ++seed) {
    const NeighbourOptions options{.fan_outs = {1, 10}};
    const std::set<int64_t> edges = hub_edges(sample(graph, options, {seed}, 1));
    of_epochs += shared(edges, hub_edges(sample(graph, options, {seed}, 2)));
    of_seeds += shared(edges, hub_edges(sample(graph, options, {1000 + (seed + 1) % 1000}, 1)));
  }
  const double five_deviations = 5 * std::sqrt(1000 * 0.81 * 10 / 11);
  EXPECT_NEAR(static_cast<double>(of_epochs), 1000, five_deviations);
  EXPECT_NEAR(static_cast<double>(of_seeds), 1000, five_deviations);
}

// Two hops: all neighbours of a node that the first hop reached are equally likely.
TEST(NeighbourSampler, InclusionIsUniformInEachHop) {
  std::vector<std::set<int64_t>> lists(20);
  for (int64_t v = 10; v < 20; ++v) lists[1].insert(v);
  lists[0].insert({1, 2, 3});
  const GiantGraph graph(lists);
  std::vector<int64_t> first(3);
  std::vector<int64_t> second(10);
  int64_t reached = 0;
  for (uint32_t epoch = 0; epoch < 20'000; ++epoch) {
    const SampledSubgraph out = sample(graph, {.fan_outs = {1, 3}}, {0}, epoch);
    ++first[static_cast<size_t>(out.node[1]) - 1];
    reached += out.node[1] == 1;
    for (size_t i = 2; i < out.node.size(); ++i) ++second[static_cast<size_t>(out.node[i]) - 10];
  }
  EXPECT_LT(chi_square_deviations(first, std::vector<double>(3, 20'000 / 3.0)), 5);
  EXPECT_LT(chi_square_deviations(second, std::vector<double>(10, static_cast<double>(reached) * 0.3)), 5);
}

TEST(NeighbourSampler, RefusesWhatItCannotDo) {
  const GiantGraph graph = skewed_graph(kNodes, 6);
  const auto text = [&](const NeighbourOptions& options, const std::vector<int64_t>& seeds) {
    return error_text<UsageError>([&] { sample(graph, options, seeds); });
  };
  EXPECT_THAT(text({.fan_outs = {-2}}, {1}), HasSubstr("a fan-out of -2"));
  EXPECT_THAT(text({.fan_outs = {2}, .weighted = true}, {1}), HasSubstr("the graph has no weights"));
  EXPECT_THAT(text({.fan_outs = {2}}, {1, 2, 1}), HasSubstr("seed 1 occurs twice"));
  EXPECT_THAT(text({.fan_outs = {2}}, {400}), HasSubstr("node 400 is not in the graph"));
  EXPECT_THAT(text({.fan_outs = {2}}, {-1}), HasSubstr("node -1 is not in the graph"));
}

TEST(NeighbourSampler, KeepsWithinTheBudgetOrSaysSo) {
  const GiantGraph graph = skewed_graph(kNodes, 6);
  const LedgerCap cap(16 << 10);
  EXPECT_THROW(sample(graph, {.fan_outs = {-1, -1, -1}}, numbers(0, 100)), BudgetExceeded);
}

TEST(NeighbourSampler, NoSeedsNoNodes) {
  const GiantGraph graph = skewed_graph(kNodes, 6);
  const SampledSubgraph out = sample(graph, {.fan_outs = {3, 3}}, {});
  EXPECT_TRUE(out.node.empty());
  EXPECT_THAT(out.nodes_per_hop, ElementsAre(0, 0, 0));
  EXPECT_THAT(out.edges_per_hop, ElementsAre(0, 0));
}

}  // namespace
}  // namespace plimsoll
