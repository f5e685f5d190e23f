#include "sample/topology/disk_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "memory/ledger.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "sample/topology/list_search.h"
#include "store/graph.h"
#include "support/errors.h"
#include "support/graph_folder.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using Numbers = std::vector<int64_t>;

// Pages so small that a small graph has many.
const PageCache::Options kSmallPages = {{}, 64};

class DiskTopologyTest : public testing::Test {
 protected:
  template <typename T>
  std::filesystem::path write(const GiantGraph& graph) {
    GraphWriter writer(folder_ / "graph", true);
    writer.append_row_ends(std::span(graph.indptr).subspan(1));
    const std::vector<T> indices(graph.indices.begin(), graph.indices.end());
    writer.append_indices(std::span<const T>(indices));
    if (!graph.weights.empty()) writer.append_edge_weight(graph.weights);
    writer.publish({.direction = EdgeDirection::in}, make_provenance("made up", {}));
    return folder_ / "graph";
  }
  static GiantGraph weighted_graph(int64_t nodes) {
    GiantGraph graph = skewed_graph(nodes, 3);
    std::mt19937 random(5);
    graph.weights.resize(graph.indices.size());
    for (float& weight : graph.weights) weight = static_cast<float>(random() % 1000) / 7;
    return graph;
  }
  // From the smallest cache to the largest, and more.
  static Numbers budgets(const DiskTopology& topology) {
    const int64_t min = topology.min_bytes();
    const int64_t max = topology.max_bytes();
    return {min, min + (max - min) / 5, min + (max - min) / 2, max, 2 * max};
  }
  static void expect_equal(const Topology& expected, const Topology& topology, uint32_t seed) {
    std::mt19937 random(seed);
    Numbers nodes(static_cast<size_t>(expected.nodes()));
    std::iota(nodes.begin(), nodes.end(), 0);
    std::shuffle(nodes.begin(), nodes.end(), random);
    Numbers edges(static_cast<size_t>(expected.edges()));
    std::iota(edges.begin(), edges.end(), 0);
    std::shuffle(edges.begin(), edges.end(), random);

    std::vector<EdgeRange> lists[2] = {std::vector<EdgeRange>(nodes.size()),
                                       std::vector<EdgeRange>(nodes.size())};
    Numbers neighbours[2] = {Numbers(edges.size()), Numbers(edges.size())};
    std::vector<float> weights[2] = {std::vector<float>(edges.size()), std::vector<float>(edges.size())};
    const Topology* const both[2] = {&expected, &topology};
    for (size_t i = 0; i < 2; ++i) {
      both[i]->read_lists(nodes, lists[i]);
      both[i]->read_neighbours(edges, neighbours[i]);
      if (expected.weighted()) both[i]->read_weights(edges, weights[i]);
    }
    // Looks up nodes that are in the lists and others that may be.
    Numbers sought(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const EdgeRange& list = lists[0][i];
      sought[i] = static_cast<int64_t>(random() % static_cast<uint64_t>(expected.nodes()));
      if (i % 2 == 0 && list.degree > 0) {
        const Numbers edge{list.first + static_cast<int64_t>(random()) % list.degree};
        expected.read_neighbours(edge, std::span(sought).subspan(i, 1));
      }
    }
    std::vector<uint8_t> found[2] = {std::vector<uint8_t>(nodes.size(), 2),
                                     std::vector<uint8_t>(nodes.size(), 2)};
    Numbers places(nodes.size());
    topology.find(lists[0], sought, found[0]);
    ListSearch(expected).find(lists[0], sought, places, found[1]);
    ASSERT_EQ(found[0], found[1]);
    expected.find(lists[0], sought, found[0]);
    ASSERT_EQ(found[0], found[1]);
    for (size_t i = 0; i < nodes.size(); ++i) {
      ASSERT_EQ(lists[0][i].first, lists[1][i].first) << "node " << nodes[i];
      ASSERT_EQ(lists[0][i].degree, lists[1][i].degree) << "node " << nodes[i];
    }
    ASSERT_EQ(neighbours[0], neighbours[1]);
    ASSERT_EQ(weights[0], weights[1]);
  }
  static SampledSubgraph sample(const Topology& topology, const NeighbourOptions& options, uint32_t epoch) {
    SampledSubgraph out;
    Numbers seeds;
    for (int64_t seed = epoch; seed < topology.nodes(); seed += 7) seeds.push_back(seed);
    NeighbourSampler(topology, options, 11).sample(seeds, epoch, out);
    return out;
  }
  static void expect_same_sample(const Topology& expected, const Topology& topology,
                                 const NeighbourOptions& options, uint32_t epoch) {
    const SampledSubgraph a = sample(expected, options, epoch);
    const SampledSubgraph b = sample(topology, options, epoch);
    ASSERT_EQ(a.node, b.node);
    ASSERT_EQ(a.row, b.row);
    ASSERT_EQ(a.col, b.col);
    ASSERT_EQ(a.edge, b.edge);
    ASSERT_EQ(a.batch, b.batch);
  }

  TempFolder folder_;
};

TEST_F(DiskTopologyTest, GivesWhatTheGraphInMemoryGives) {
  for (const int64_t nodes : {1, 8, 63, 300}) {
    GiantGraph graph = weighted_graph(nodes);
    for (const bool weights : {true, false}) {
      if (!weights) graph.weights.clear();
      for (const bool wide : {false, true})
        for (const PageCache::Options& options : {PageCache::Options{}, kSmallPages}) {
          const auto folder = wide ? write<int64_t>(graph) : write<uint32_t>(graph);
          DiskTopology topology(folder, 100'000'000, options);
          EXPECT_EQ(topology.nodes(), graph.nodes());
          EXPECT_EQ(topology.edges(), static_cast<int64_t>(graph.indices.size()));
          EXPECT_EQ(topology.weighted(), weights && !graph.weights.empty());
          for (const int64_t bytes : budgets(topology)) {
            topology.resize(bytes);
            for (uint32_t seed = 0; seed < 2; ++seed) expect_equal(graph.topology(), topology, seed);
          }
        }
    }
  }
}

// Rows of any width end within a page or cross several.
TEST_F(DiskTopologyTest, EdgeValuesAreThoseOfTheColumns) {
  for (const int64_t features : {0, 1, 3, 16, 41})
    for (const bool weight : {false, true}) {
      const GiantGraph graph = weighted_graph(200);
      write_graph(folder_ / "graph", graph, 3, {}, features);
      const GraphView view(folder_ / "graph");
      DiskTopology topology(view, kSmallPages, {.weight = weight, .features = features > 0});
      const int64_t width = features + (weight ? 1 : 0);
      ASSERT_EQ(topology.edge_width(), width);
      Numbers edges(3 * graph.indices.size());
      std::mt19937 random(1);
      for (int64_t& edge : edges) edge = static_cast<int64_t>(random() % graph.indices.size());
      for (const int64_t bytes : budgets(topology)) {
        topology.resize(bytes);
        std::vector<float> values(edges.size() * static_cast<size_t>(width)), expected;
        topology.read_edge_values(edges, values);
        for (const int64_t edge : edges) {
          if (weight) expected.push_back(graph.weights[static_cast<size_t>(edge)]);
          for (int64_t k = 1; k <= features; ++k) expected.push_back(static_cast<float>(k * edge));
        }
        ASSERT_EQ(values, expected) << features << weight << bytes;
      }
    }
  write_graph(folder_ / "graph", skewed_graph(20, 3));
  const GraphView bare(folder_ / "graph");
  EXPECT_EQ(DiskTopology(bare, {}, {.features = true}).edge_width(), 0);
  EXPECT_THAT(error_text<InputError>([&] { DiskTopology(bare, {}, {.weight = true}); }),
              HasSubstr("no weights"));
}

TEST_F(DiskTopologyTest, AGraphWithoutEdgesHasEmptyLists) {
  const GiantGraph graph({{}, {}, {}});
  DiskTopology topology(write<uint32_t>(graph), 100'000'000);
  for (const int64_t bytes : {topology.min_bytes(), topology.max_bytes()}) {
    topology.resize(bytes);
    expect_equal(graph.topology(), topology, 1);
    EXPECT_TRUE(sample(topology, {.fan_outs = {-1}}, 1).edge.empty());
  }
}

TEST_F(DiskTopologyTest, SamplesDoNotDependOnTheBudget) {
  const GiantGraph graph = weighted_graph(1'000);
  const CsrTopology memory = graph.topology();
  DiskTopology disk(write<uint32_t>(graph), 100'000'000, kSmallPages);
  for (const int64_t bytes : budgets(disk)) {
    disk.resize(bytes);
    for (uint32_t epoch = 0; epoch < 4; ++epoch)
      for (const NeighbourOptions& options :
           {NeighbourOptions{.fan_outs = {15, 10, 5}},
            NeighbourOptions{.fan_outs = {4, -1}, .disjoint = true},
            NeighbourOptions{.fan_outs = {5, 5}, .weighted = true},
            NeighbourOptions{.fan_outs = {3, 3}, .subgraph = SubgraphType::induced}})
        expect_same_sample(memory, disk, options, epoch);
  }
}

TEST_F(DiskTopologyTest, EveryWayOfReadingGivesTheSame) {
  const GiantGraph graph = weighted_graph(1'000);
  const auto folder = write<int64_t>(graph);
  for (const char* name : {"ring-direct", "pool-direct", "ring", "pool"}) {
    if (!open_method(folder / "indptr.npy", method_from_name(name), 4096, 4096)) continue;
    ::setenv("PLIMSOLL_READ", name, 1);
    DiskTopology topology(folder, 100'000'000, kSmallPages);
    topology.resize(topology.min_bytes() + 4'000);
    expect_equal(graph.topology(), topology, 1);
    ::unsetenv("PLIMSOLL_READ");
  }
}

TEST_F(DiskTopologyTest, ThreadsSampleAtOnceWhileItsBytesChange) {
  const GiantGraph graph = weighted_graph(1'000);
  const CsrTopology memory = graph.topology();
  DiskTopology disk(write<uint32_t>(graph), 100'000'000, kSmallPages);
  const Numbers bytes = budgets(disk);
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (uint32_t epoch = 0; epoch < 6; ++epoch) {
        if (thread == 0) disk.resize(bytes[epoch % bytes.size()]);
        expect_same_sample(memory, disk, {.fan_outs = {15, 10, 5}}, 4 * epoch + thread);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DiskTopologyTest, LedgerHoldsNoMoreThanItsBytes) {
  const GiantGraph graph = weighted_graph(20'000);
  const auto folder = write<uint32_t>(graph);
  const int64_t before = Ledger::process().held();
  const int64_t cache_before = Ledger::process().held(Tag::cache);
  {
    DiskTopology topology(folder, 100'000'000, {});
    for (const int64_t bytes : budgets(topology)) {
      topology.resize(bytes);
      expect_equal(graph.topology(), topology, 1);
      EXPECT_LE(Ledger::process().held(Tag::cache) - cache_before, bytes);
    }
    EXPECT_EQ(Ledger::process().held(Tag::cache) - cache_before, topology.max_bytes());
    EXPECT_THAT(error_text<UsageError>([&] { topology.resize(topology.min_bytes() - 1); }),
                HasSubstr("a topology on disk: found a budget of"));
  }
  EXPECT_EQ(Ledger::process().held(), before);
}

TEST_F(DiskTopologyTest, WithRoomForAllNothingIsReadAgain) {
  const GiantGraph graph = weighted_graph(3'000);
  const DiskTopology topology(write<uint32_t>(graph), 100'000'000);
  expect_equal(graph.topology(), topology, 1);
  const TopologyCounters first = topology.counters();
  EXPECT_GT(first.neighbours.bytes_read, 0);
  expect_equal(graph.topology(), topology, 2);
  const TopologyCounters then = topology.counters();
  EXPECT_EQ(first.lists.misses, then.lists.misses);
  EXPECT_EQ(first.neighbours.misses, then.neighbours.misses);
  EXPECT_EQ(first.weights.misses, then.weights.misses);
  EXPECT_GE(then.neighbours.hits - first.neighbours.hits, topology.edges());
}

TEST_F(DiskTopologyTest, RefusesDamageWhereItReadsIt) {
  GiantGraph graph({{1, 2}, {}, {0, 1, 2}});
  graph.indptr = {0, 4, 2, 5};
  graph.indices = {1, 2, 0, 3, -1};
  const DiskTopology topology(write<int64_t>(graph), 100'000'000);
  std::vector<EdgeRange> lists(1);
  Numbers neighbours(1);
  topology.read_lists(Numbers{0}, lists);
  EXPECT_THAT(error_text<InputError>([&] { topology.read_lists(Numbers{1}, lists); }),
              HasSubstr("found 4 and 2 at node 1"));
  EXPECT_THAT(error_text<UsageError>([&] { topology.read_lists(Numbers{3}, lists); }),
              HasSubstr("node 3 is not in the graph; expected 0 to 2"));
  for (const int64_t edge : {3, 4})
    EXPECT_THAT(error_text<InputError>([&] { topology.read_neighbours(Numbers{edge}, neighbours); }),
                HasSubstr("at edge " + std::to_string(edge)));
}

TEST_F(DiskTopologyTest, FileCutShortWhileOpenIsAnErrorAndNoSignal) {
  const GiantGraph graph = weighted_graph(5'000);
  const auto folder = write<uint32_t>(graph);
  DiskTopology topology(folder, 100'000'000);
  topology.resize(topology.min_bytes());
  for (const char* name : {"indices", "indptr"}) {
    std::filesystem::resize_file(folder / (std::string(name) + ".npy"), 5'000);
    EXPECT_THAT(error_text<InputError>([&] {
                  sample(topology, {.fan_outs = {15, 10, 5}}, 1);
                }),
                HasSubstr(std::string(name) + ".npy: the file ends at byte "));
  }
}

}  // namespace
}  // namespace plimsoll
