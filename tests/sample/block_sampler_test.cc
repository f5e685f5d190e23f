#include "sample/neighbour/block_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "sample/neighbour/neighbour_source.h"
#include "support/graph_folder.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

void expect_equal(const BlockSample& a, const BlockSample& b) {
  EXPECT_EQ(a.batch.epoch, b.batch.epoch);
  EXPECT_EQ(a.batch.node, b.batch.node);
  EXPECT_EQ(a.batch.in, b.batch.in);
  EXPECT_EQ(a.batch.source, b.batch.source);
  EXPECT_EQ(a.batch.values, b.batch.values);
  EXPECT_EQ(a.batch.nodes_per_hop, b.batch.nodes_per_hop);
  EXPECT_EQ(a.batch.edges_per_hop, b.batch.edges_per_hop);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.pairs, b.pairs);
  EXPECT_EQ(a.pair_y, b.pair_y);
}

class BlockSamplerTest : public testing::Test {
 protected:
  BlockSamplerTest() {
    write_graph(folder_ / "graph", skewed_graph(300, 4), 4, {}, 3);
    source_ = std::make_unique<NeighbourSource>(folder_ / "graph", of_);
  }
  BlockSampler::From from() const {
    return {source_->topology(), source_->graph(), source_->blocks(), of_.neighbours, of_.seed};
  }

  TempFolder folder_;
  NeighbourSourceOptions of_{.neighbours = {.fan_outs = {4, 3, 2}},
                             .blocks = {.epochs = 2, .batch_size = 32, .block_seeds = 8, .seed = 3},
                             .seed = 3,
                             .edges = {.features = true}};
  std::unique_ptr<NeighbourSource> source_;
};

TEST_F(BlockSamplerTest, ManyAtATimeAreWhatTheyAreAlone) {
  BlockSampler sampler(from());
  const std::vector<int64_t> numbers = {3, 0, 17, 9};
  std::vector<BlockSample> together(numbers.size());
  sampler.sample(numbers, together);
  for (size_t i = 0; i < numbers.size(); ++i) {
    BlockSample alone;
    sampler.sample(numbers[i], alone);
    expect_equal(together[i], alone);
  }
}

TEST_F(BlockSamplerTest, WhatIsWrittenIsRead) {
  BlockSampler sampler(from());
  BlockSample sample, read;
  Vector<std::byte, Tag::blocks> bytes;
  for (const int64_t number : {0, 11, 5}) {
    sampler.sample(number, sample);
    sample.write(bytes);
    std::vector<GraphShape> prefixes(3);
    const GraphShape shape = sample.shape(prefixes);
    EXPECT_LE(std::ssize(bytes), BlockSample::max_bytes(shape, {}, 3, 3));
    EXPECT_LE(std::ssize(bytes), BlockSample::max_bytes(shape, prefixes, 3, 3));
    EXPECT_EQ(bytes.size() % 8, 0U);
    read.read(bytes);
    expect_equal(read, sample);
  }
  for (const int64_t far :
       {0LL, 0xffLL, 0x100LL, 0xffffLL, 0x10000LL, 0xffffffLL, 0x1000000LL, 0xffffffffLL}) {
    sample.batch.node.back() = far;
    sample.write(bytes);
    read.read(bytes);
    expect_equal(read, sample);
  }
  sample.pairs = {0, 1, 2, 3};
  sample.pair_y = {1, 0};
  sample.labels.clear();
  sample.write(bytes);
  read.read(bytes);
  expect_equal(read, sample);
}

// A number below 256 needs one byte in the file, one below 65,536 two, and so on.
TEST_F(BlockSamplerTest, NumbersAreAsLongAsTheLargestNeeds) {
  BlockSampler sampler(from());
  BlockSample sample;
  sampler.sample(0, sample);
  Vector<std::byte, Tag::blocks> bytes;
  const auto written = [&](int64_t largest) {
    std::ranges::fill(sample.batch.node, 0);
    sample.batch.node.back() = largest;
    sample.write(bytes);
    return std::ssize(bytes);
  };
  const auto nodes = std::ssize(sample.batch.node);
  const int64_t shortest = written(0);
  constexpr int64_t kPadding = 8;
  for (const auto& [largest, width] :
       {std::pair{1LL, 1}, {255LL, 1}, {256LL, 2}, {65'536LL, 3}, {1LL << 24, 4}})
    EXPECT_NEAR(static_cast<double>(written(largest) - shortest), static_cast<double>(width * nodes),
                kPadding);
}

TEST_F(BlockSamplerTest, DamagedBytesAreRefused) {
  BlockSampler sampler(from());
  BlockSample sample;
  sampler.sample(0, sample);
  Vector<std::byte, Tag::blocks> bytes;
  sample.write(bytes);
  for (const size_t left : {bytes.size() / 2, size_t{20}, size_t{0}})
    EXPECT_THROW(sample.read(std::span(bytes).first(left)), Failure) << left;
}

}  // namespace
}  // namespace plimsoll
