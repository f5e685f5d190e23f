#include "sample/neighbour/on_disk_prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "memory/ledger.h"
#include "rows/spilled_features.h"
#include "sample/neighbour/neighbour_source.h"
#include "support/errors.h"
#include "support/graph_folder.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kFeatures = 512;

struct ReadBlock {
  std::vector<int64_t> nodes;
  std::vector<float> x;
};

class OnDiskPrefetcherTest : public testing::Test {
 protected:
  OnDiskPrefetcherTest() {
    write_graph(folder_ / "graph", skewed_graph(600, 4), kFeatures);
    source_ = std::make_unique<NeighbourSource>(folder_ / "graph", of_);
    rows_ = FeatureFile::column(source_->graph().set(), "x");
    uses_.resize(static_cast<size_t>(rows_.rows), 1);
    for (size_t row = 0; row < uses_.size(); row += 9) uses_[row] = 9;
  }

  void SetUp() override {
    if (!ScratchFile::make(folder_.path(), 6 << 20)) GTEST_SKIP() << "temporary files lie in memory";
  }

  BlockSampler::From from() const {
    return {source_->topology(), source_->graph(), source_->blocks(), of_.neighbours, of_.seed};
  }
  OnDiskPrefetcher open(int64_t group) const {
    BlockSampler sampler(from());
    BlockSample sample;
    SpilledFeatures::Options packs{.bytes = 0, .scratch_bytes = 6 << 20};
    for (int64_t number = 0; number < source_->graphs(); ++number) {
      sampler.sample(number, sample);
      packs.max_rows = std::max(packs.max_rows, sample.batch.nodes());
      packs.max_note =
          std::max(packs.max_note, BlockSample::max_bytes(sample.shape({}), {}, source_->widths().hops, 0));
    }
    while (SpilledFeatures::kept_rows(rows_.layout(), packs) < rows_.rows / 10) packs.bytes += 4096;
    auto scratch = ScratchFile::make(folder_.path(), packs.scratch_bytes);
    return {std::make_unique<SpilledFeatures>(rows_, packs, std::move(*scratch), uses_),
            std::make_unique<SampledNow>(from()),
            nullptr,
            RunOrder(source_->blocks()),
            {.max_note = packs.max_note, .group = group}};
  }
  // Expected content of a block; empty if it was not prefetched.
  ReadBlock expected(int64_t number) const {
    BlockSampler sampler(from());
    BlockSample sample;
    sampler.sample(number, sample);
    ReadBlock block{{sample.batch.node.begin(), sample.batch.node.end()}, {}};
    block.x.resize(block.nodes.size() * kFeatures);
    for (size_t i = 0; i < block.nodes.size(); ++i)
      source_->graph().copy_x(block.nodes[i], std::span(block.x).subspan(i * kFeatures, kFeatures));
    return block;
  }
  static ReadBlock read(OnDiskPrefetcher& blocks, int64_t number) {
    ReadBlock block;
    const bool came = blocks.read(number, [&](const BlockSample& sample) {
      block.nodes.assign(sample.batch.node.begin(), sample.batch.node.end());
      block.x.resize(block.nodes.size() * kFeatures);
      return reinterpret_cast<std::byte*>(block.x.data());
    });
    return came ? block : ReadBlock{};
  }
  std::vector<int64_t> order() const {
    std::vector<int64_t> order;
    const int64_t epoch = source_->blocks().per_epoch();
    for (int64_t round = 0; round < of_.blocks.epochs; ++round) {
      for (int64_t b = 0; b < epoch; ++b) order.push_back(round * epoch + b);
      for (const int64_t b : source_->blocks().numbers(1)) order.push_back(b);
    }
    return order;
  }

  TempFolder folder_;
  NeighbourSourceOptions of_{.neighbours = {.fan_outs = {4, 3}},
                             .blocks = {.epochs = 3, .batch_size = 64, .block_seeds = 16, .seed = 5},
                             .seed = 5};
  std::unique_ptr<NeighbourSource> source_;
  FeatureFile rows_;
  std::vector<uint8_t> uses_;
};

TEST_F(OnDiskPrefetcherTest, BlocksOfARunAreWhatTheyAreAlone) {
  for (const int64_t group : {int64_t{1}, int64_t{7}}) {
    OnDiskPrefetcher blocks = open(group);
    int64_t came = 0;
    for (const int64_t number : order()) {
      const ReadBlock found = read(blocks, number);
      if (found.nodes.empty()) continue;
      ++came;
      const ReadBlock of = expected(number);
      ASSERT_EQ(found.nodes, of.nodes);
      ASSERT_EQ(found.x, of.x);
    }
    EXPECT_EQ(came, std::ssize(order()) - 1) << "the first is what the others come after";
    EXPECT_GT(blocks.counters().bytes_written, 0);
  }
}

TEST_F(OnDiskPrefetcherTest, WhatIsNotExpectedBeginsAnew) {
  OnDiskPrefetcher blocks = open(4);
  const int64_t epoch = source_->blocks().per_epoch();
  for (const int64_t start : {int64_t{0}, 2 * epoch + 1, epoch + 5}) {
    EXPECT_TRUE(read(blocks, start).nodes.empty());
    for (int64_t number = start + 1; number < start + 5; ++number) {
      const ReadBlock found = read(blocks, number);
      ASSERT_EQ(found.nodes, expected(number).nodes);
      ASSERT_EQ(found.x, expected(number).x);
    }
  }
}

// Nothing is packed for a reader without an access pattern.
TEST_F(OnDiskPrefetcherTest, ItWaitsUntilWhatWasExpectedComes) {
  OnDiskPrefetcher blocks = open(4);
  for (const int64_t number : {0, 6, 12, 2}) EXPECT_TRUE(read(blocks, number).nodes.empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(blocks.counters().bytes_written, 0);
  EXPECT_FALSE(read(blocks, 3).nodes.empty());
}

// Each reader that jumps restarts prefetching, while others are about to read earlier blocks.
TEST_F(OnDiskPrefetcherTest, ManyWhoStartAtDifferentBlocksReadTheirOwn) {
  std::vector<ReadBlock> of;
  for (int64_t number = 0; number < source_->graphs(); ++number) of.push_back(expected(number));
  OnDiskPrefetcher blocks = open(2);
  std::atomic<int> wrong = 0;
  {
    // Watchers make others wait for the lock, so that more happens between a check and the lock.
    std::vector<std::jthread> watchers;
    for (int watcher = 0; watcher < 4; ++watcher)
      watchers.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) blocks.planned();
      });
    std::vector<std::jthread> readers;
    for (uint32_t reader = 0; reader < 8; ++reader)
      readers.emplace_back([&, reader] {
        std::mt19937 random(reader);
        for (int start = 0; start < 80; ++start) {
          auto number = static_cast<size_t>(random()) % of.size();
          for (size_t end = std::min(of.size(), number + 1 + random() % 6); number < end; ++number) {
            const ReadBlock found = read(blocks, static_cast<int64_t>(number));
            wrong += !found.nodes.empty() && (found.nodes != of[number].nodes || found.x != of[number].x);
          }
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  // A single reader that announces its next block afterwards gets all blocks. Without the announcement it
  // would depend on which blocks the readers visited last.
  blocks.expect(0);
  for (size_t number = 0; number < 6; ++number) {
    const ReadBlock found = read(blocks, static_cast<int64_t>(number));
    ASSERT_EQ(found.nodes, of[number].nodes);
    ASSERT_EQ(found.x, of[number].x);
  }
}

// Memory for reading pinned rows is refused: blocks are not prefetched, but later ones are.
TEST_F(OnDiskPrefetcherTest, ARefusalOfMemoryIsForgotten) {
  OnDiskPrefetcher blocks = open(2);
  EXPECT_TRUE(read(blocks, 0).nodes.empty());  // Blocks are packed from the next one on.
  {
    const LedgerCap cap(1024);
    EXPECT_TRUE(read(blocks, 1).nodes.empty());
  }
  EXPECT_TRUE(read(blocks, 2).nodes.empty());
  for (int64_t number = 3; number < 9; ++number) {
    const ReadBlock found = read(blocks, number);
    ASSERT_EQ(found.nodes, expected(number).nodes);
    ASSERT_EQ(found.x, expected(number).x);
  }
}

TEST_F(OnDiskPrefetcherTest, ErrorsOfTheDiskAreThoseOfWhoReads) {
  OnDiskPrefetcher blocks = open(4);
  read(blocks, 0);
  std::filesystem::resize_file(rows_.path, 4096);
  EXPECT_THAT(error_text<InputError>([&] { read(blocks, 1); }), HasSubstr(rows_.path.string()));
  EXPECT_THAT(error_text<InputError>([&] { read(blocks, 2); }), HasSubstr(rows_.path.string()));
}

TEST_F(OnDiskPrefetcherTest, AllOfItGoesWithIt) {
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held();
  {
    OnDiskPrefetcher blocks = open(4);
    for (int64_t number = 0; number < 4; ++number) read(blocks, number);
  }
  EXPECT_EQ(ledger.held(), before);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().filename(), "graph") << "a scratch file has no name";
}

}  // namespace
}  // namespace plimsoll
