#include "sample/neighbour/range_sampler.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "sample/neighbour/neighbour_source.h"
#include "support/graph_folder.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

constexpr int64_t kNodes = 20'000;
constexpr int64_t kDegree = 40;

// Lists of about kDegree neighbours each, which fill many pages, and one list of a fifth of all nodes.
GiantGraph graph_of_many_pages() {
  std::mt19937 random(8);
  std::vector<std::set<int64_t>> lists(kNodes);
  for (int64_t v = 0; v < kNodes; ++v)
    for (int64_t i = 0; i < (v == 700 ? kNodes / 5 : v % 9 == 8 ? 0 : kDegree); ++i)
      lists[static_cast<size_t>(v)].insert(static_cast<int64_t>(random() % kNodes));
  return GiantGraph(lists);
}

class RangeSamplerTest : public testing::Test {
 protected:
  RangeSamplerTest() {
    GiantGraph graph = graph_of_many_pages();
    for (size_t e = 0; e < graph.indices.size(); ++e) graph.weights.push_back(static_cast<float>(e % 5));
    write_graph(folder_ / "graph", graph, 3, {}, 2);
  }
  void SetUp() override {
    if (!ScratchFile::make(folder_.path(), 64 << 20)) GTEST_SKIP() << "temporary files lie in memory";
  }

  static NeighbourSourceOptions options() {
    return {.neighbours = {.fan_outs = {6, 4, 3}},
            .blocks = {.epochs = 2, .batch_size = 1024, .block_seeds = 128, .seed = 3},
            .seed = 3};
  }
  std::unique_ptr<NeighbourSource> open(const NeighbourSourceOptions& options) const {
    return std::make_unique<NeighbourSource>(folder_ / "graph", options);
  }
  static BlockSampler::From from(const NeighbourSource& source, const NeighbourSourceOptions& options) {
    return {source.topology(), source.graph(), source.blocks(), options.neighbours, options.seed};
  }
  static std::vector<int64_t> all_blocks(const NeighbourSource& source) {
    std::vector<int64_t> numbers(static_cast<size_t>(source.graphs()));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }

  TempFolder folder_;
};

void expect_same_sample(const BlockSample& a, const BlockSample& b) {
  ASSERT_EQ(a.number, b.number);
  EXPECT_EQ(a.batch.epoch, b.batch.epoch);
  EXPECT_EQ(a.batch.node, b.batch.node);
  EXPECT_EQ(a.batch.in, b.batch.in);
  EXPECT_EQ(a.batch.source, b.batch.source);
  EXPECT_EQ(a.batch.values, b.batch.values);
  EXPECT_EQ(a.batch.nodes_per_hop, b.batch.nodes_per_hop);
  EXPECT_EQ(a.batch.edges_per_hop, b.batch.edges_per_hop);
  EXPECT_EQ(a.labels, b.labels);
}

TEST_F(RangeSamplerTest, SamplesAreThoseOfTheBlockSampler) {
  for (const int variant : {0, 1, 2, 3}) {
    NeighbourSourceOptions asked = options();
    asked.neighbours.replace = variant == 1;
    asked.neighbours.weighted = variant == 2;
    asked.edges = {.weight = variant == 3, .features = variant == 3};
    if (variant == 3) asked.neighbours.fan_outs = {2, -1};
    const auto source = open(asked);
    DiskTopology& topology = source->topology();
    for (const int threads : {1, 3}) {
      const int64_t bytes = topology.min_bytes() + (threads == 1 ? 2 << 20 : 600 << 10);
      RangeSampler sampler(from(*source, asked), topology, {threads, bytes, 8 << 20});
      ASSERT_TRUE(sampler.is_possible());
      ScratchFile file = *ScratchFile::make(folder_.path(), 64 << 20);
      const std::vector<int64_t> numbers = {0, 3, 1, source->graphs() - 1, 90, 80, 81};
      std::vector<BlockSample> samples;
      sampler.sample(numbers, file, [&](const BlockSample& sample, Turn& turn) {
        turn.wait();
        samples.push_back(sample);
        return true;
      });
      topology.resize(topology.max_bytes());
      BlockSampler alone(from(*source, asked));
      BlockSample expected;
      ASSERT_EQ(samples.size(), numbers.size());
      for (size_t i = 0; i < numbers.size(); ++i) {
        alone.sample(numbers[i], expected);
        expect_same_sample(samples[i], expected);
      }
    }
  }
}

TEST_F(RangeSamplerTest, ListsAreReadOnceAHopHoweverLittleMemoryThereIs) {
  const NeighbourSourceOptions asked = options();
  const auto source = open(asked);
  DiskTopology& topology = source->topology();
  const int64_t bytes = topology.min_bytes() + (256 << 10);
  ASSERT_GT(topology.max_bytes() - topology.min_bytes(), int64_t{3} << 20);
  RangeSampler sampler(from(*source, asked), topology, {2, bytes, 8 << 20});
  ASSERT_TRUE(sampler.is_possible());
  ScratchFile file = *ScratchFile::make(folder_.path(), 64 << 20);
  const TopologyCounters before = topology.counters();
  int64_t blocks = 0;
  sampler.sample(all_blocks(*source), file, [&](const BlockSample&, Turn& turn) {
    turn.wait();
    ++blocks;
    return true;
  });
  EXPECT_EQ(blocks, source->graphs());
  const TopologyCounters after = topology.counters();
  const auto hops = static_cast<int64_t>(asked.neighbours.fan_outs.size());
  const int64_t column = source->graph().edges() * static_cast<int64_t>(sizeof(uint32_t));
  EXPECT_LE(after.neighbours.bytes_read - before.neighbours.bytes_read, hops * column * 21 / 20);
  EXPECT_GE(after.neighbours.bytes_read - before.neighbours.bytes_read, column);
}

TEST_F(RangeSamplerTest, AFullFileIsAnErrorBeforeTheFirstSample) {
  const NeighbourSourceOptions asked = options();
  const auto source = open(asked);
  RangeSampler sampler(from(*source, asked), source->topology(),
                       {2, source->topology().min_bytes() + (1 << 20), 1 << 20});
  ScratchFile small = *ScratchFile::make(folder_.path(), 1 << 20);
  bool is_used = false;
  const auto use = [&](const BlockSample&, Turn&) { return is_used = true; };
  EXPECT_THROW(sampler.sample(all_blocks(*source), small, use), ScratchStreamsFull);
  EXPECT_FALSE(is_used);
  ScratchFile enough = *ScratchFile::make(folder_.path(), 64 << 20);
  EXPECT_TRUE(sampler.sample(all_blocks(*source), enough, use));
}

TEST_F(RangeSamplerTest, SamplesAfterAFullFileAreThoseOfTheBlockSampler) {
  const NeighbourSourceOptions asked = options();
  const auto source = open(asked);
  const std::vector<int64_t> all = all_blocks(*source);
  const auto some = std::span(all).first(8);
  int64_t full = 0;
  for (const int64_t mebibytes : {1, 4, 8, 9}) {
    RangeSampler sampler(from(*source, asked), source->topology(),
                         {2, source->topology().min_bytes() + (1 << 20), 256 << 10});
    ScratchFile small = *ScratchFile::make(folder_.path(), mebibytes << 20);
    try {
      sampler.sample(all, small, [](const BlockSample&, Turn&) { return true; });
    } catch (const ScratchStreamsFull&) {
      ++full;
    }
    ScratchFile enough = *ScratchFile::make(folder_.path(), 64 << 20);
    std::vector<BlockSample> samples;
    sampler.sample(some, enough, [&](const BlockSample& sample, Turn& turn) {
      turn.wait();
      samples.push_back(sample);
      return true;
    });
    source->topology().resize(source->topology().max_bytes());
    BlockSampler alone(from(*source, asked));
    BlockSample expected;
    ASSERT_EQ(samples.size(), some.size());
    for (size_t i = 0; i < some.size(); ++i) {
      alone.sample(some[i], expected);
      expect_same_sample(samples[i], expected);
    }
    source->topology().resize(source->topology().min_bytes());
  }
  EXPECT_GE(full, 2);
}

TEST_F(RangeSamplerTest, ItEndsWhenItIsTold) {
  const NeighbourSourceOptions asked = options();
  const auto source = open(asked);
  RangeSampler sampler(from(*source, asked), source->topology(),
                       {2, source->topology().min_bytes() + (1 << 20), 4 << 20});
  ScratchFile file = *ScratchFile::make(folder_.path(), 64 << 20);
  int64_t used = 0;
  EXPECT_FALSE(sampler.sample(all_blocks(*source), file, [&](const BlockSample&, Turn& turn) {
    turn.wait();
    return ++used < 3;
  }));
  EXPECT_LE(used, 3 + 1);
}

// It is reported from the first hop on, before the first sample is complete.
TEST_F(RangeSamplerTest, ARunReportsHowManyBlocksAreSampled) {
  NeighbourSourceOptions asked = options();
  // A folder without free space: lists are then read for one group of blocks after the other.
  const std::filesystem::path no_space = "/proc";
  for (const std::filesystem::path& temporary : {std::filesystem::path(), folder_.path(), no_space}) {
    const bool in_ranges = temporary == folder_.path();
    asked.scratch = {.folder = {}, .bytes = {}, .temporary = temporary};
    const auto source = open(asked);
    int64_t calls = 0, last = 0;
    source->report_sampling([&](int64_t done, int64_t total) {
      ++calls;
      EXPECT_EQ(total, source->graphs());
      EXPECT_GE(done, last);
      last = done;
    });
    {
      std::optional<LedgerCap> cap;
      if (!temporary.empty()) cap.emplace(5 << 20);
      source->shapes(2);
    }
    EXPECT_EQ(last, source->graphs());
    EXPECT_EQ(calls, in_ranges ? 4 * source->graphs() : calls);
    EXPECT_GT(calls, source->graphs() / 8);
  }
}

// A run that has a scratch file reads the lists in ranges when they do not fit into its memory. Before and
// after that, some blocks are sampled separately, each with at most one pass per hop.
TEST_F(RangeSamplerTest, ARunReadsListsOnceAHop) {
  NeighbourSourceOptions asked = options();
  const auto in_memory = open(asked)->shapes(2);
  asked.scratch = {.folder = {}, .bytes = {}, .temporary = folder_.path()};
  const auto source = open(asked);
  const DiskTopology& topology = source->topology();
  const LedgerCap cap(5 << 20);
  const auto shapes = source->shapes(2);
  EXPECT_EQ(std::memcmp(shapes.data(), in_memory.data(), shapes.size() * sizeof(GraphShape)), 0);
  EXPECT_GT(source->start_up_cost()->bytes_written, 0) << "ranges write streams, groups nothing";
  constexpr int64_t kAlone = 3;
  const int64_t column = source->graph().edges() * static_cast<int64_t>(sizeof(uint32_t));
  EXPECT_LE(topology.counters().neighbours.bytes_read, (1 + kAlone) * 3 * column * 21 / 20);
}

}  // namespace
}  // namespace plimsoll
