#include "ingest/graph/split_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "store/verify.h"
#include "support/errors.h"
#include "support/link_graph.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Pairs = std::set<std::pair<int64_t, int64_t>>;  // Neighbour and node.

class SplitEdges : public testing::Test {
 protected:
  EdgeSplitResult split(const GiantGraph& graph, EdgeSplitOptions options = {}) {
    write_plain_graph(folder_ / "graph", graph, /*edge_columns=*/true);
    options.graph = folder_ / "graph";
    options.out = folder_ / "split";
    options.force = true;
    return split_edges(options, [](int64_t, int64_t) {});
  }
  GraphView there() const { return GraphView(folder_ / "split"); }

  static Pairs pairs_of(const GraphView& graph, size_t split) {
    Pairs pairs;
    const auto edges = graph.split_edges(split);
    for (size_t i = 0; i < edges.size(); i += 2) pairs.insert({edges[i], edges[i + 1]});
    return pairs;
  }
  static Pairs edges_of(const GraphView& graph) {
    Pairs pairs;
    for (int64_t v = 0; v < graph.nodes(); ++v)
      for (int64_t e = graph.indptr()[static_cast<size_t>(v)]; e < graph.indptr()[static_cast<size_t>(v) + 1];
           ++e)
        pairs.insert({graph.neighbour(e), v});
    return pairs;
  }

  TempFolder folder_;
};

TEST_F(SplitEdges, HoldsAPairOutBothWaysAndPredictsItOnce) {
  const GiantGraph graph = undirected_graph(400, 1);
  const EdgeSplitResult result = split(graph, {.valid = 0.1, .test = 0.2});
  EXPECT_TRUE(result.undirected);
  const GraphView view = there();
  const Pairs kept = edges_of(view);
  EXPECT_EQ(result.edges, static_cast<int64_t>(kept.size()));
  int64_t all = 0;
  for (size_t s = 0; s < kGraphSplits.size(); ++s) {
    const Pairs pairs = pairs_of(view, s);
    EXPECT_EQ(result.pairs[s], static_cast<int64_t>(pairs.size()));
    all += result.pairs[s];
    for (const auto& [neighbour, node] : pairs) {
      EXPECT_LT(neighbour, node);
      EXPECT_TRUE(graph.has_edge(node, neighbour));
      EXPECT_EQ(kept.contains({neighbour, node}), s == 0);
      EXPECT_EQ(kept.contains({node, neighbour}), s == 0);
    }
  }
  EXPECT_EQ(2 * all, static_cast<int64_t>(graph.indices.size()));
  EXPECT_NEAR(static_cast<double>(result.pairs[1]), 0.1 * static_cast<double>(all), 60);
  EXPECT_NEAR(static_cast<double>(result.pairs[2]), 0.2 * static_cast<double>(all), 80);
  EXPECT_THAT(verify_data_set(folder_ / "split"), IsEmpty());
}

TEST_F(SplitEdges, OfADirectedGraphPredictsEachEdgeAndKeepsSelfLoops) {
  const GiantGraph graph = skewed_graph(300, 3);
  const EdgeSplitResult result = split(graph, {.valid = 0.2, .test = 0.1});
  EXPECT_FALSE(result.undirected);
  const GraphView view = there();
  const Pairs kept = edges_of(view);
  Pairs all = kept;
  for (size_t s = 1; s < kGraphSplits.size(); ++s)
    for (const auto& [neighbour, node] : pairs_of(view, s)) {
      EXPECT_FALSE(kept.contains({neighbour, node}) || kept.contains({node, neighbour}));
      EXPECT_NE(neighbour, node);
      all.insert({neighbour, node});
    }
  EXPECT_EQ(all.size(), graph.indices.size());
  for (int64_t v = 0; v < graph.nodes(); ++v) EXPECT_EQ(kept.contains({v, v}), graph.has_edge(v, v));
}

TEST_F(SplitEdges, AShareOfWhatStaysTrains) {
  const GiantGraph graph = undirected_graph(400, 1);
  split(graph);
  const Pairs all = pairs_of(there(), 0), valid = pairs_of(there(), 1), kept = edges_of(there());
  const EdgeSplitResult result = split(graph, {.train = 0.25});
  EXPECT_NEAR(static_cast<double>(result.pairs[0]), 0.25 * static_cast<double>(all.size()), 70);
  for (const auto& pair : pairs_of(there(), 0)) EXPECT_TRUE(all.contains(pair));
  EXPECT_EQ(pairs_of(there(), 1), valid);
  EXPECT_EQ(edges_of(there()), kept);
}

TEST_F(SplitEdges, WhatIsKnownOfEdgesAndNodesStaysWithThem) {
  const GiantGraph graph = undirected_graph(100, 2);
  split(graph);
  const GraphView view = there();
  ASSERT_EQ(view.edge_features(), 2);
  for (int64_t v = 0; v < view.nodes(); ++v) {
    std::array<float, 2> x{};
    view.copy_x(v, x);
    EXPECT_EQ(x[1], static_cast<float>(2 * v));
    for (int64_t e = view.indptr()[static_cast<size_t>(v)]; e < view.indptr()[static_cast<size_t>(v) + 1];
         ++e) {
      const auto at = static_cast<size_t>(e);
      const auto before = static_cast<int64_t>(view.edge_weight()[at]);
      EXPECT_EQ(graph.owner(before), v);
      EXPECT_EQ(graph.indices[static_cast<size_t>(before)], view.neighbour(e));
      EXPECT_EQ(view.edge_attr()[2 * at + 1], -static_cast<float>(before));
    }
  }
}

TEST_F(SplitEdges, DependsOnTheSeedAndThePairAlone) {
  split(undirected_graph(200, 5), {.seed = 9});
  const Pairs first = pairs_of(there(), 1);
  split(undirected_graph(200, 5), {.seed = 9});
  EXPECT_EQ(pairs_of(there(), 1), first);
  // Pairs that another graph also has are in the same split of that graph.
  std::vector<std::set<int64_t>> lists(200);
  for (int64_t v = 0; v < 200; ++v)
    for (int64_t u = 0; u < 200; ++u)
      if (u != v) lists[static_cast<size_t>(v)].insert(u);
  split(GiantGraph(lists), {.seed = 9});
  const Pairs of_all = pairs_of(there(), 1);
  for (const auto& pair : first) EXPECT_TRUE(of_all.contains(pair));
  split(undirected_graph(200, 5), {.seed = 10});
  EXPECT_NE(pairs_of(there(), 1), first);
}

TEST_F(SplitEdges, SaysThatItIsThereAlready) {
  split(undirected_graph(100, 2));
  const EdgeSplitOptions options{.graph = folder_ / "graph", .out = folder_ / "split"};
  const EdgeSplitResult again = split_edges(options, [](int64_t, int64_t) {});
  EXPECT_TRUE(again.already_there);
  EXPECT_GT(again.pairs[1], 0);
}

TEST_F(SplitEdges, RefusesSharesRowsAndGraphsThatCannotBe) {
  const GiantGraph graph = undirected_graph(50, 2);
  EXPECT_THAT(error_text<UsageError>([&] { split(graph, {.valid = 0}); }), HasSubstr("--valid 0"));
  EXPECT_THAT(error_text<UsageError>([&] { split(graph, {.valid = 0.5, .test = 0.5}); }),
              HasSubstr("--test"));
  EXPECT_THAT(error_text<UsageError>([&] { split(graph, {.train = 0}); }), HasSubstr("--train 0"));
  GiantGraph twice = graph;
  twice.indices[1] = twice.indices[0];
  EXPECT_THAT(error_text<InputError>([&] { split(twice); }), HasSubstr("--dedup"));
  split(graph);
  EXPECT_THAT(error_text<InputError>([&] {
                split_edges({.graph = folder_ / "split", .out = folder_ / "again"}, [](int64_t, int64_t) {});
              }),
              HasSubstr("already split"));
}

TEST_F(SplitEdges, AHeldOutEdgeInTheGraphIsFoundByVerify) {
  const GiantGraph graph = undirected_graph(50, 2);
  GraphWriter writer(folder_ / "leaky", true);
  const std::vector<uint32_t> indices(graph.indices.begin(), graph.indices.end());
  writer.append_row_ends(std::span(graph.indptr).subspan(1));
  writer.append_indices(std::span<const uint32_t>(indices));
  const int64_t node = graph.owner(30);
  writer.append_split_edges(1, std::vector<int64_t>{graph.indices[30], node});
  writer.publish({}, make_provenance("made up", {}));
  EXPECT_THAT(verify_data_set(folder_ / "leaky"), testing::ElementsAre(HasSubstr("should be held out")));
}

}  // namespace
}  // namespace plimsoll
