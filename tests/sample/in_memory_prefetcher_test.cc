#include "sample/neighbour/in_memory_prefetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "sample/neighbour/neighbour_source.h"
#include "support/graph_folder.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

constexpr int64_t kFeatures = 64;

// A slow topology that counts its calls.
class SlowTopology final : public Topology {
 public:
  explicit SlowTopology(const Topology& topology) : topology_(topology) {}
  int64_t nodes() const override { return topology_.nodes(); }
  int64_t edges() const override { return topology_.edges(); }
  bool weighted() const override { return topology_.weighted(); }
  void read_lists(std::span<const int64_t> nodes, std::span<EdgeRange> lists) const override {
    wait();
    topology_.read_lists(nodes, lists);
  }
  void read_neighbours(std::span<const int64_t> edges, std::span<int64_t> neighbours) const override {
    wait();
    topology_.read_neighbours(edges, neighbours);
  }
  void read_weights(std::span<const int64_t> edges, std::span<float> weights) const override {
    topology_.read_weights(edges, weights);
  }
  void find(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
            std::span<uint8_t> found) const override {
    topology_.find(lists, nodes, found);
  }
  int asked() const { return asked_; }

 private:
  void wait() const {
    ++asked_;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  const Topology& topology_;
  mutable std::atomic<int> asked_ = 0;
};

class InMemoryPrefetcherTest : public testing::Test {
 protected:
  InMemoryPrefetcherTest() {
    write_graph(folder_ / "graph", skewed_graph(600, 4), kFeatures);
    source_ = std::make_unique<NeighbourSource>(folder_ / "graph", topology_);
    rows_ = FeatureFile::column(source_->graph().set(), "x");
    uses_.resize(static_cast<size_t>(rows_.rows), 1);
  }

  BlockSampler::From from(const Topology& topology) const {
    return {topology, source_->graph(), source_->blocks(), topology_.neighbours, topology_.seed};
  }
  InMemoryPrefetcher::Options options(int64_t group) const {
    return {.row_bytes = SharedScan::max_bytes(rows_.layout()),
            .ahead_bytes = 64 << 20,
            .max_bytes = 64 << 10,
            .group = group};
  }
  static std::vector<int64_t> read(InMemoryPrefetcher& blocks, int64_t number) {
    std::vector<int64_t> nodes;
    std::vector<float> x;
    const bool came = blocks.read(number, [&](const BlockSample& sample) {
      nodes.assign(sample.batch.node.begin(), sample.batch.node.end());
      x.resize(nodes.size() * kFeatures);
      return reinterpret_cast<std::byte*>(x.data());
    });
    for (size_t i = 0; came && i < nodes.size(); ++i)
      EXPECT_EQ(x[i * kFeatures], static_cast<float>(nodes[i]));
    return came ? nodes : std::vector<int64_t>{};
  }

  TempFolder folder_;
  NeighbourSourceOptions topology_{.neighbours = {.fan_outs = {4, 3}},
                                   .blocks = {.epochs = 3, .batch_size = 64, .block_seeds = 16, .seed = 5},
                                   .seed = 5};
  std::unique_ptr<NeighbourSource> source_;
  FeatureFile rows_;
  std::vector<uint8_t> uses_;
};

TEST_F(InMemoryPrefetcherTest, RefusedMemoryIsNotTheEndOfTheProcess) {
  InMemoryPrefetcher blocks(rows_, std::make_unique<SampledNow>(from(source_->topology())),
                            RunOrder(source_->blocks()), uses_, options(4));
  {
    const LedgerCap cap(0);
    EXPECT_TRUE(read(blocks, 0).empty());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(blocks.planned(), 0);
    EXPECT_TRUE(read(blocks, 1).empty());
  }
  read(blocks, 2);
  for (int i = 0; i < 10'000 && blocks.planned() == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(read(blocks, 3).empty()) << "a refusal is forgotten";
}

// The destructor does not wait for remaining samples, even those of the current group.
TEST_F(InMemoryPrefetcherTest, ItsEndWaitsForOneReadAlone) {
  for (const int64_t group : {1, 64}) {
    const SlowTopology topology(source_->topology());
    int asked = 0;
    {
      InMemoryPrefetcher blocks(rows_, std::make_unique<SampledNow>(from(topology)),
                                RunOrder(source_->blocks()), uses_, options(group));
      EXPECT_TRUE(read(blocks, 0).empty());
      while (topology.asked() < 3) std::this_thread::yield();
      asked = topology.asked();
    }
    EXPECT_LE(topology.asked(), asked + 1) << group;
  }
}

}  // namespace
}  // namespace plimsoll
