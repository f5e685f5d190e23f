#include "sample/typed/typed_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "base/workers.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "support/chi_square.h"
#include "support/errors.h"
#include "support/giant_graph.h"
#include "support/ledger_cap.h"
#include "support/random_typed_graph.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using TypedColumns = std::vector<TypedSample::Column>;
using FanOuts = std::vector<std::vector<int64_t>>;

constexpr size_t kUsers = RandomTypedGraph::kUsers;
constexpr size_t kOrders = RandomTypedGraph::kOrders;

FanOuts four_times(const std::vector<int64_t>& hops) {
  return {hops, hops, hops, hops};
}

TypedColumns columns_of(const TypedSample& out) {
  TypedColumns columns;
  for (const auto& nodes : out.nodes) columns.insert(columns.end(), {nodes.node, nodes.batch, nodes.per_hop});
  for (const auto& edges : out.edges)
    columns.insert(columns.end(), {edges.row, edges.col, edges.edge, edges.per_hop});
  return columns;
}

// A seed with a time.
struct TimedSeed {
  int64_t node, time;
};

TypedSample sample_of(const TypedTopology& topology, const TypedOptions& options, size_t type,
                      const std::vector<TimedSeed>& seeds, uint32_t epoch = 1) {
  std::vector<int64_t> nodes, times;
  for (const TimedSeed& seed : seeds) {
    nodes.push_back(seed.node);
    times.push_back(seed.time);
  }
  const TypedSeeds some{type, nodes, times};
  TypedSample out;
  TypedSampler(topology, options, 7).sample(std::span(&some, 1), epoch, out);
  return out;
}

std::vector<TimedSeed> random_seeds(int64_t nodes, size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TimedSeed> seeds;
  for (size_t i = 0; i < count; ++i)
    seeds.push_back({static_cast<int64_t>(random() % static_cast<uint64_t>(nodes)),
                     static_cast<int64_t>(random() % RandomTypedGraph::kTimes)});
  return seeds;
}

// An edge of a tree: its edge type, index, source and target.
using TreeEdge = std::tuple<size_t, int64_t, int64_t, int64_t>;

std::vector<TreeEdge> tree_of(const RandomTypedGraph& graph, const TypedSample& out, int64_t tree) {
  const TypedTopology topology = graph.topology();
  std::vector<TreeEdge> edges;
  for (size_t type = 0; type < out.edges.size(); ++type) {
    const TypedSample::Nodes& sources = out.nodes[topology.edges()[type].source];
    const TypedSample::Nodes& targets = out.nodes[topology.edges()[type].target];
    for (size_t i = 0; i < out.edges[type].edge.size(); ++i) {
      const auto row = static_cast<size_t>(out.edges[type].row[i]);
      const auto col = static_cast<size_t>(out.edges[type].col[i]);
      EXPECT_EQ(sources.batch[row], targets.batch[col]);
      if (targets.batch[col] == tree)
        edges.emplace_back(type, out.edges[type].edge[i], sources.node[row], targets.node[col]);
    }
  }
  return edges;
}

int64_t edge_time(const RandomTypedGraph& graph, const TreeEdge& tree_edge) {
  const auto& [type, edge, source, target] = tree_edge;
  if (type == 0) return graph.order_time[static_cast<size_t>(source)];
  if (type == 1) return graph.order_time[static_cast<size_t>(target)];
  return type == 2 ? graph.own.time[static_cast<size_t>(edge)] : std::numeric_limits<int64_t>::min();
}

bool source_is_known(const RandomTypedGraph& graph, size_t type, int64_t source, int64_t last) {
  return (type != 0 && type != 2) || graph.order_time[static_cast<size_t>(source)] <= last;
}

TEST(TypedSampler, HasTheBitsOfNeighbourSamplerForOneType) {
  GiantGraph graph = skewed_graph(400, 1);
  std::mt19937 random(3);
  for (size_t i = 0; i < graph.indices.size(); ++i) graph.weights.push_back(static_cast<float>(random() % 5));
  const std::vector<uint32_t> indices(graph.indices.begin(), graph.indices.end());
  const TypedTopology typed({{400}},
                            {{.indptr = graph.indptr, .indices = indices, .weights = graph.weights}});
  const CsrTopology topology = graph.topology();
  const std::vector<int64_t> seeds = {300, 0, 6, 12, 399};
  for (const bool disjoint : {false, true})
    for (const bool replace : {false, true})
      for (const bool weighted : {false, true}) {
        SampledSubgraph expected;
        NeighbourSampler(
            topology,
            {.fan_outs = {5, -1, 3}, .replace = replace, .weighted = weighted, .disjoint = disjoint}, 7)
            .sample(seeds, 2, expected);
        TypedSample out;
        const TypedSeeds some{0, seeds, {}};
        TypedSampler(
            typed, {.fan_outs = {{5, -1, 3}}, .replace = replace, .weighted = weighted, .disjoint = disjoint},
            7)
            .sample(std::span(&some, 1), 2, out);
        EXPECT_EQ(columns_of(out),
                  (TypedColumns{expected.node, expected.batch, expected.nodes_per_hop, expected.row,
                                expected.col, expected.edge, expected.edges_per_hop}));
      }
}

// Expects the edges of all trees to be known at the time of their seed.
void expect_known(const RandomTypedGraph& graph, const TypedOptions& options,
                  const std::vector<TimedSeed>& seeds, const TypedSample& out) {
  for (size_t tree = 0; tree < seeds.size(); ++tree) {
    const int64_t last = options.before ? seeds[tree].time - 1 : seeds[tree].time;
    for (const TreeEdge& edge : tree_of(graph, out, static_cast<int64_t>(tree))) {
      const int64_t time = edge_time(graph, edge);
      ASSERT_LE(time, last);
      ASSERT_TRUE(!options.window || std::get<0>(edge) == 3 || time >= seeds[tree].time - *options.window);
      ASSERT_TRUE(source_is_known(graph, std::get<0>(edge), std::get<2>(edge), last));
    }
  }
}

TEST(TypedSampler, NoEdgeIsLaterThanItsSeed) {
  const RandomTypedGraph graph(30, 80, 12, 5);
  const TypedTopology topology = graph.topology();
  for (const int variant : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) {
    TypedOptions options{.fan_outs = four_times({4, 3}),
                         .replace = (variant & 1) != 0,
                         .strategy = (variant & 2) != 0 ? TemporalStrategy::last : TemporalStrategy::uniform,
                         .before = (variant & 4) != 0};
    if ((variant & 8) != 0) options.window = 9;
    const std::vector<TimedSeed> seeds = random_seeds(30, 40, 11);
    for (const size_t type : {kUsers, kOrders})
      expect_known(graph, options, seeds, sample_of(topology, options, type, seeds));
  }
}

// Returns the edges of the list of `node` that are known, in order.
std::vector<int64_t> known_edges(const RandomTypedGraph& graph, size_t type, int64_t node, int64_t last) {
  const RandomTypedGraph::Lists& lists = graph.lists(type);
  std::vector<int64_t> known;
  for (int64_t edge = lists.indptr[static_cast<size_t>(node)];
       edge < lists.indptr[static_cast<size_t>(node) + 1]; ++edge) {
    const auto source = static_cast<int64_t>(lists.indices[static_cast<size_t>(edge)]);
    if (edge_time(graph, {type, edge, source, node}) <= last && source_is_known(graph, type, source, last))
      known.push_back(edge);
  }
  return known;
}

TEST(TypedSampler, TakesAllKnownEdgesOrTheLatest) {
  const RandomTypedGraph graph(30, 80, 12, 6);
  const TypedTopology topology = graph.topology();
  for (const int64_t fan_out : {-1, 1, 3, 1000})
    for (const size_t type : {kUsers, kOrders}) {
      const std::vector<TimedSeed> seeds = random_seeds(30, 60, 12);
      const TypedOptions options{.fan_outs = four_times({fan_out}), .strategy = TemporalStrategy::last};
      const TypedSample out = sample_of(topology, options, type, seeds);
      for (size_t tree = 0; tree < seeds.size(); ++tree) {
        std::map<size_t, std::vector<int64_t>> found;
        for (const auto& [edge_type, edge, source, target] : tree_of(graph, out, static_cast<int64_t>(tree)))
          found[edge_type].push_back(edge);
        for (size_t edge_type = 0; edge_type < 4; ++edge_type) {
          if (topology.edges()[edge_type].target != type) continue;
          std::vector<int64_t> expected = known_edges(graph, edge_type, seeds[tree].node, seeds[tree].time);
          if (fan_out >= 0 && expected.size() > static_cast<size_t>(fan_out))
            expected.erase(expected.begin(), expected.end() - fan_out);
          EXPECT_EQ(found[edge_type], expected);
        }
      }
    }
}

TEST(TypedSampler, ATreeDoesNotDependOnItsBatch) {
  const RandomTypedGraph graph(30, 80, 12, 7);
  const TypedTopology topology = graph.topology();
  const TypedOptions options{.fan_outs = four_times({3, 2})};
  std::vector<TimedSeed> seeds = random_seeds(30, 20, 13);
  const TypedSample together = sample_of(topology, options, kUsers, seeds);
  std::vector<TimedSeed> reversed(seeds.rbegin(), seeds.rend());
  const TypedSample backwards = sample_of(topology, options, kUsers, reversed);
  for (size_t i = 0; i < seeds.size(); ++i) {
    const auto tree = tree_of(graph, together, static_cast<int64_t>(i));
    EXPECT_EQ(tree, tree_of(graph, sample_of(topology, options, kUsers, {seeds[i]}), 0));
    EXPECT_EQ(tree, tree_of(graph, backwards, static_cast<int64_t>(seeds.size() - 1 - i)));
  }
}

TEST(TypedSampler, DrawsDifferByTimeEpochAndEdgeType) {
  const RandomTypedGraph graph(2, 400, 300, 8);
  const TypedTopology topology = graph.topology();
  const TypedOptions options{.fan_outs = four_times({20})};
  // All edges are known at both times.
  const auto drawn = [&](int64_t time, uint32_t epoch) {
    return columns_of(sample_of(topology, options, kUsers, {{0, time}}, epoch));
  };
  EXPECT_EQ(drawn(100, 1), drawn(100, 1));
  EXPECT_NE(drawn(100, 1), drawn(101, 1));
  EXPECT_NE(drawn(100, 1), drawn(100, 2));
  // Two edge types with the same lists.
  const TypedEdges type{
      .source = 1, .target = 0, .indptr = graph.by_source.indptr, .indices = graph.by_source.indices};
  const TypedTopology twice({{2}, {400}}, {type, type});
  const TypedSample out = sample_of(twice, {.fan_outs = {{20}, {20}}}, 0, {{0, 1}});
  EXPECT_NE(out.edges[0].edge, out.edges[1].edge);
}

TEST(TypedSampler, KnownEdgesAreEquallyLikely) {
  const RandomTypedGraph graph(30, 80, 12, 9);
  const TypedTopology topology = graph.topology();
  constexpr int64_t kTime = 25;
  for (const size_t edge_type : {size_t{0}, size_t{2}}) {
    const std::vector<int64_t> known = known_edges(graph, edge_type, 0, kTime);
    ASSERT_GT(known.size(), 10U);
    ASSERT_LT(known.size(), static_cast<size_t>(graph.lists(edge_type).indptr[1]));
    FanOuts fan_outs = four_times({0});
    fan_outs[edge_type] = {3};
    std::vector<int64_t> counts(known.size());
    constexpr uint32_t kEpochs = 4000;
    for (uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
      const TypedSample out = sample_of(topology, {.fan_outs = fan_outs}, topology.edges()[edge_type].target,
                                        {{0, kTime}}, epoch);
      for (const int64_t edge : out.edges[edge_type].edge)
        ++counts[static_cast<size_t>(std::ranges::lower_bound(known, edge) - known.begin())];
    }
    const std::vector<double> expected(known.size(), 3.0 * kEpochs / static_cast<double>(known.size()));
    EXPECT_LT(chi_square_deviations(counts, expected), 5);
  }
}

TEST(TypedSampler, ARepeatedSeedHasEdgesOfItsOwn) {
  const RandomTypedGraph graph(30, 80, 12, 10);
  const TypedTopology topology = graph.topology();
  const TypedSample timed =
      sample_of(topology, {.fan_outs = four_times({3, 2})}, kUsers, {{0, 30}, {1, 30}, {0, 30}});
  EXPECT_FALSE(tree_of(graph, timed, 0).empty());
  EXPECT_EQ(tree_of(graph, timed, 0), tree_of(graph, timed, 2));

  const std::vector<int64_t> nodes = {0, 1, 0};
  const TypedSeeds seeds{kUsers, nodes, {}};
  TypedSample shared;
  TypedSampler(topology, {.fan_outs = four_times({3, 2})}, 7).sample(std::span(&seeds, 1), 1, shared);
  EXPECT_THAT(std::span(shared.nodes[kUsers].node).first(3), ElementsAre(0, 1, 0));
  std::map<int64_t, std::vector<int64_t>> edges;
  for (size_t i = 0; i < shared.edges[0].edge.size(); ++i)
    edges[shared.edges[0].col[i]].push_back(shared.edges[0].edge[i]);
  EXPECT_EQ(edges[0].size(), 3U);
  EXPECT_EQ(edges[0], edges[2]);
  // Only the seeds of the batch occur twice.
  const auto& all = shared.nodes[kUsers].node;
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size() + 1, all.size());
}

TEST(TypedSampler, FanOutsMayDifferByEdgeType) {
  const RandomTypedGraph graph(30, 80, 12, 11);
  const TypedTopology topology = graph.topology();
  const TypedSample out =
      sample_of(topology, {.fan_outs = {{2, 0}, {0, 1}, {0, 3}, {0, 0}}}, kUsers, {{0, 39}, {1, 39}});
  EXPECT_THAT(out.edges[0].per_hop, ElementsAre(4, 0));
  EXPECT_EQ(out.edges[1].per_hop[0], 0);
  EXPECT_GT(out.edges[1].per_hop[1], 0);
  EXPECT_GT(out.edges[2].per_hop[1], 0);
  EXPECT_TRUE(out.edges[3].edge.empty());
  EXPECT_EQ(out.nodes[kUsers].per_hop.size(), 3U);
}

TEST(TypedSampler, ThreadsAndOlderBatchesHaveNoInfluence) {
  const RandomTypedGraph graph(30, 80, 12, 14);
  const TypedTopology topology = graph.topology();
  const TypedOptions options{.fan_outs = four_times({3, 2})};
  const auto batches = [&](int threads) {
    std::vector<TypedColumns> all(20);
    std::vector<TypedSampler> samplers(static_cast<size_t>(threads), {topology, options, 7});
    Workers workers(threads);
    workers.run_ordered(20, [&](int64_t item, Turn& turn) {
      const std::vector<int64_t> nodes = {item, item + 1}, times = {item, 2 * item};
      const TypedSeeds seeds{kUsers, nodes, times};
      TypedSample out;
      samplers[static_cast<size_t>(turn.worker())].sample(std::span(&seeds, 1), 1, out);
      all[static_cast<size_t>(item)] = columns_of(out);
    });
    return all;
  };
  const std::vector<TypedColumns> one = batches(1);
  EXPECT_EQ(one, batches(2));
  EXPECT_EQ(one, batches(4));
}

TEST(TypedSampler, KeepsWithinTheBudgetOrSaysSo) {
  const RandomTypedGraph graph(30, 80, 12, 15);
  const TypedTopology topology = graph.topology();
  const std::vector<int64_t> nodes = {0, 1, 2, 3}, times = {39, 38, 37, 36};
  const TypedSeeds seeds{kUsers, nodes, times};
  TypedSampler sampler(topology, {.fan_outs = four_times({-1, -1, -1})}, 7);
  TypedSample out;
  {
    const LedgerCap cap(16 << 10);
    EXPECT_THROW(sampler.sample(std::span(&seeds, 1), 1, out), BudgetExceeded);
  }
  sampler.sample(std::span(&seeds, 1), 1, out);
  TypedSample expected;
  TypedSampler(topology, {.fan_outs = four_times({-1, -1, -1})}, 7).sample(std::span(&seeds, 1), 1, expected);
  EXPECT_EQ(columns_of(out), columns_of(expected));
}

// The samples with the largest sizes need all the memory that any other sample needs, also where edges of a
// list are not known yet (KnownEdges::gaps).
void expect_no_growth(const RandomTypedGraph& graph) {
  const TypedTopology topology = graph.topology();
  const auto make = [&] { return TypedSampler(topology, {.fan_outs = four_times({3, 2, 2})}, 7); };
  const std::vector<TimedSeed> seeds = random_seeds(graph.users, 400, 6);
  const auto sample = [&](TypedSampler& sampler, size_t i, TypedSample& out) {
    const TypedSeeds seed{kUsers, std::span(&seeds[i].node, 1), std::span(&seeds[i].time, 1)};
    sampler.sample(std::span(&seed, 1), 1, out);
    std::vector<int64_t> sizes(sampler.scratch_sizes().begin(), sampler.scratch_sizes().end());
    for (const auto& nodes : out.nodes) sizes.push_back(std::ssize(nodes.node));
    for (const auto& edges : out.edges) sizes.push_back(std::ssize(edges.edge));
    return sizes;
  };
  std::vector<std::pair<int64_t, size_t>> largest;
  TypedSampler first = make();
  TypedSample of_first;
  for (size_t i = 0; i < seeds.size(); ++i) {
    const std::vector<int64_t> sizes = sample(first, i, of_first);
    largest.resize(sizes.size(), {-1, 0});
    for (size_t s = 0; s < sizes.size(); ++s) largest[s] = std::max(largest[s], {sizes[s], i});
  }
  TypedSampler sampler = make();
  TypedSample out;
  for (const auto& [size, seed] : largest) sample(sampler, seed, out);
  const int64_t held = Ledger::process().held();
  for (size_t i = 0; i < seeds.size(); ++i) sample(sampler, i, out);
  EXPECT_EQ(Ledger::process().held(), held);
}

TEST(TypedSampler, NeedsNoMemoryBeyondThatOfItsLargestSizes) {
  for (uint32_t seed = 1; seed <= 20; ++seed) expect_no_growth(RandomTypedGraph(30, 80, 12, seed));
}

TEST(TypedSampler, NoSeedsNoNodes) {
  const RandomTypedGraph graph(30, 80, 12, 16);
  const TypedSample out = sample_of(graph.topology(), {.fan_outs = four_times({3, 3})}, kOrders, {});
  EXPECT_TRUE(out.nodes[kOrders].node.empty());
  EXPECT_THAT(out.nodes[kUsers].per_hop, ElementsAre(0, 0, 0));
  EXPECT_THAT(out.edges[0].per_hop, ElementsAre(0, 0));
}

TEST(TypedSampler, RefusesWhatItCannotDo) {
  const RandomTypedGraph graph(30, 80, 12, 12);
  const TypedTopology topology = graph.topology();
  const auto refusal = [&](const TypedOptions& options, size_t type = kUsers,
                           std::vector<TimedSeed> seeds = {{0, 1}}) {
    return error_text<UsageError>([&] { sample_of(topology, options, type, seeds); });
  };
  EXPECT_THAT(refusal({.fan_outs = {{1}}}),
              HasSubstr("fan-outs for 1 edge types, expected fan-outs for each of 4"));
  EXPECT_THAT(refusal({.fan_outs = {{1}, {1}, {1}, {1, 2}}}), HasSubstr("1 and 2 hops"));
  EXPECT_THAT(refusal({.fan_outs = four_times({-2})}), HasSubstr("fan-out of -2"));
  EXPECT_THAT(refusal({.fan_outs = four_times({1}), .window = -1}), HasSubstr("window of -1"));
  EXPECT_THAT(refusal({.fan_outs = four_times({1})}, 2), HasSubstr("node type 2"));
  EXPECT_THAT(refusal({.fan_outs = four_times({1})}, kUsers, {{30, 1}}),
              HasSubstr("node 30 is not in the graph"));
  EXPECT_THAT(refusal({.fan_outs = four_times({1})}, kUsers, {{3, std::numeric_limits<int64_t>::min()}}),
              HasSubstr("node 3 has no time"));
}

TEST(TypedSampler, RefusesDamagedGraphs) {
  RandomTypedGraph graph(30, 80, 12, 13);
  const auto text = [&] {
    return error_text<InputError>([&] {
      sample_of(graph.topology(), {.fan_outs = four_times({-1})}, kUsers, random_seeds(30, 200, 3));
    });
  };
  std::reverse(graph.by_source.indices.begin(), graph.by_source.indices.begin() + graph.by_source.indptr[1]);
  EXPECT_THAT(text(), HasSubstr("expected lists sorted by time"));
  graph.by_source.indices.assign(graph.by_source.indices.size(), 80);
  EXPECT_THAT(text(), HasSubstr("found node 80 at edge"));
  graph.order_time.pop_back();
  EXPECT_THAT(text(), HasSubstr("found 79 rows of node times, expected 80"));
}

}  // namespace
}  // namespace plimsoll
