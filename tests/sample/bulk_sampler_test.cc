#include "sample/neighbour/bulk_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "memory/ledger.h"
#include "sample/topology/disk_topology.h"
#include "support/errors.h"
#include "support/graph_folder.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class BulkSamplerTest : public testing::Test {
 protected:
  BulkSamplerTest() : graph_(skewed_graph(800, 4)) { write_graph(folder_ / "graph", graph_, 2); }

  // Seeds that differ within a batch and occur in several batches.
  static std::vector<SampledBatch> make_batches(size_t count) {
    std::mt19937 random(2);
    std::vector<SampledBatch> batches(count);
    for (SampledBatch& batch : batches) {
      batch.epoch = random() % 3;
      const auto step = static_cast<int64_t>(random() % 5 + 1);
      const auto first = static_cast<int64_t>(random() % 700);
      for (int64_t i = 0; i < static_cast<int64_t>(random() % 20); ++i)
        batch.node.push_back((first + i * step) % 800);
    }
    return batches;
  }
  // Every second pair of seeds with an edge.
  std::vector<int64_t> targets_of(std::span<const int64_t> seeds) const {
    std::vector<int64_t> pairs;
    bool takes = true;
    for (const int64_t a : seeds)
      for (const int64_t b : seeds)
        if (graph_.has_edge(a, b) && (takes = !takes)) pairs.insert(pairs.end(), {a, b});
    return pairs;
  }
  void expect_same(const Topology& topology, const NeighbourOptions& options, bool with_targets = false) {
    for (const size_t count : {1, 3, 40}) {
      std::vector<SampledBatch> batches = make_batches(count);
      BulkSampler bulk(topology, options, 7);
      NeighbourSampler sampler(topology, options, 7);
      const std::vector<SampledBatch> seeds = make_batches(count);
      std::vector<std::vector<int64_t>> pairs(count);
      PredictedEdges targets;
      for (size_t b = 0; with_targets && b < count; ++b) {
        pairs[b] = targets_of(seeds[b].node);
        for (size_t i = 0; i < pairs[b].size(); i += 2)
          targets.add(static_cast<uint32_t>(b), pairs[b][i], pairs[b][i + 1]);
      }
      targets.find(topology);
      if (count == 40) {
        EXPECT_EQ(targets.empty(), !with_targets);
      }
      bulk.sample(batches, {}, &targets);
      for (size_t b = 0; b < count; ++b) {
        SampledSubgraph alone;
        sampler.sample(seeds[b].node, seeds[b].epoch, pairs[b], alone);
        EXPECT_EQ(batches[b].node, alone.node);
        std::vector<int64_t> row, col;
        batches[b].each_edge([&](uint32_t source, uint32_t target) {
          row.push_back(source);
          col.push_back(target);
        });
        EXPECT_TRUE(std::ranges::equal(row, alone.row));
        EXPECT_TRUE(std::ranges::equal(col, alone.col));
        EXPECT_TRUE(std::ranges::equal(batches[b].nodes_per_hop, alone.nodes_per_hop));
        EXPECT_TRUE(std::ranges::equal(batches[b].edges_per_hop, alone.edges_per_hop));
        std::vector<float> values(alone.edge.size() * static_cast<size_t>(topology.edge_width()));
        topology.read_edge_values(alone.edge, values);
        EXPECT_TRUE(std::ranges::equal(batches[b].values, values));
      }
    }
  }

  TempFolder folder_;
  GiantGraph graph_;
};

TEST_F(BulkSamplerTest, EachBatchIsWhatItIsAlone) {
  const GraphView view(folder_ / "graph");
  DiskTopology disk(view);
  for (const bool all : {false, true}) {
    if (all) disk.resize(disk.max_bytes());
    for (const bool replace : {false, true})
      for (const std::vector<int64_t>& fan_outs :
           std::vector<std::vector<int64_t>>{{4, 3}, {-1}, {2, 0, 5}, {3, -1, 2}, {}})
        expect_same(disk, {.fan_outs = fan_outs, .replace = replace});
  }
}

TEST_F(BulkSamplerTest, SoItIsWithoutTheEdgesThatItPredicts) {
  for (size_t i = 0; i < graph_.indices.size(); ++i) graph_.weights.push_back(static_cast<float>(i % 5 / 3));
  const CsrTopology topology = graph_.topology();
  for (const bool replace : {false, true})
    for (const bool weighted : {false, true})
      expect_same(topology, {.fan_outs = {-1, 3}, .replace = replace, .weighted = weighted}, true);
  write_graph(folder_ / "valued", graph_, 3, {}, 6);
  const GraphView view(folder_ / "valued");
  expect_same(DiskTopology(view, {}, {.features = true}), {.fan_outs = {4, 3}}, true);
}

// In lists with edges of weight 0 fewer edges may be chosen than space is reserved for.
TEST_F(BulkSamplerTest, SoItIsByWeight) {
  for (size_t i = 0; i < graph_.indices.size(); ++i) graph_.weights.push_back(static_cast<float>(i % 5 / 3));
  const CsrTopology topology = graph_.topology();
  for (const bool replace : {false, true})
    expect_same(topology, {.fan_outs = {4, 3}, .replace = replace, .weighted = true});
}

// Also covers edges that are chosen by weight, where a batch has unused space.
TEST_F(BulkSamplerTest, EdgesBringTheirValues) {
  for (size_t i = 0; i < graph_.indices.size(); ++i) graph_.weights.push_back(static_cast<float>(i % 5 / 3));
  write_graph(folder_ / "valued", graph_, 3, {}, 41);  // More values than are read together.
  const GraphView view(folder_ / "valued");
  for (const EdgeColumns& columns :
       {EdgeColumns{true, false}, EdgeColumns{false, true}, EdgeColumns{true, true}}) {
    DiskTopology disk(view, {}, columns);
    for (const bool weighted : {false, true})
      expect_same(disk, {.fan_outs = {4, -1, 3}, .weighted = weighted});
  }
}

// The memory of a call is bounded by the size of the batches.
TEST_F(BulkSamplerTest, TakesNoMoreThanIsSaid) {
  write_graph(folder_ / "valued", graph_, 3, {}, 6);
  const GraphView view(folder_ / "valued");
  for (const bool features : {false, true}) {
    const DiskTopology topology(view, {}, {.features = features});
    BulkSampler sampler(topology, {.fan_outs = {8, 8, 8}}, 1);
    std::vector<SampledBatch> alone = make_batches(1);
    // The table and the columns of one read are allocated for any number of batches.
    sampler.sample(alone);
    Ledger& ledger = Ledger::process();
    const int64_t before = ledger.held();
    std::vector<SampledBatch> batches = make_batches(200);
    ledger.begin_recent();
    sampler.sample(batches);
    int64_t bound = 0;
    for (const SampledBatch& batch : batches)
      bound += BulkSampler::bytes_for(batch.nodes(), batch.edges(), topology.edge_width());
    EXPECT_LE(ledger.recent_peak() - before, bound + 2 * 64 * 1024 * 3 * 8);
    sampler.forget();
    batches.clear();
    EXPECT_LE(ledger.held(), before);
  }
}

TEST_F(BulkSamplerTest, ABatchThatIsSampledAgainTakesNoMemory) {
  const GraphView view(folder_ / "graph");
  const CsrTopology topology = topology_of(view);
  BulkSampler sampler(topology, {.fan_outs = {5, 5}}, 1);
  std::vector<SampledBatch> batch(1);
  const auto sample = [&] {
    batch[0].node.resize(20);
    std::iota(batch[0].node.begin(), batch[0].node.end(), int64_t{0});
    sampler.sample(batch);
  };
  sample();
  Ledger& ledger = Ledger::process();
  const int64_t held = ledger.held();
  ledger.begin_recent();
  sample();
  EXPECT_EQ(ledger.recent_peak(), held);
  EXPECT_EQ(ledger.held(), held);
}

TEST_F(BulkSamplerTest, RefusesWhatItCannotDo) {
  const GraphView view(folder_ / "graph");
  const CsrTopology topology = topology_of(view);
  EXPECT_THAT(error_text<UsageError>([&] { BulkSampler(topology, {.fan_outs = {-2}}, 1); }),
              HasSubstr("fan-out"));
  EXPECT_THAT(error_text<UsageError>([&] { BulkSampler(topology, {.fan_outs = {2}, .disjoint = true}, 1); }),
              HasSubstr("directional"));
  BulkSampler sampler(topology, {.fan_outs = {2}}, 1);
  std::vector<SampledBatch> twice(1);
  twice[0].node = {4, 4};
  EXPECT_THAT(error_text<UsageError>([&] { sampler.sample(twice); }), HasSubstr("occurs twice"));
}

}  // namespace
}  // namespace plimsoll
