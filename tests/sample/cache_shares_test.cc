#include "sample/neighbour/cache_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "rows/shared_scan.h"

namespace plimsoll {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// 5 million rows of 512 bytes, 400 MiB of topology, blocks of 7,000 nodes and edges.
class CacheSharesTest : public testing::Test {
 protected:
  CacheShares divide(int64_t bytes, int64_t topology = 400 * kMiB, int64_t scratch = 0) const {
    return divide_cache({.bytes = bytes,
                         .sizes = sizes_,
                         .rows = {"", 0, kRows, 128},
                         .hops = 2,
                         .topology_bytes = topology,
                         .scratch_bytes = scratch,
                         .uses = uses_,
                         .counted_blocks = std::accumulate(uses_.begin(), uses_.end(), int64_t{0}) / 7000});
  }
  static constexpr int64_t kRows = 5'000'000;
  const std::vector<GraphShape> shapes_{2, GraphShape{.nodes = 7000, .edges = 7000}};
  const SampleSizes sizes_ = SampleSizes::of(shapes_, {}, {.hops = 2});
  std::vector<uint8_t> uses_ = std::vector<uint8_t>(kRows, 8);
};

TEST_F(CacheSharesTest, ATopologyStaysWhereThereIsPlentyOrItIsSmall) {
  EXPECT_FALSE(divide(300 * kMiB).topology);
  EXPECT_FALSE(divide(500 * kMiB).topology);
  EXPECT_TRUE(divide(2000 * kMiB).topology);
  EXPECT_TRUE(divide(100 * kMiB, 4 * kMiB).topology);
}

TEST_F(CacheSharesTest, MoreBytesMakeLargerGroupsOfBlocks) {
  int64_t before = 0;
  for (const int64_t bytes : {20 * kMiB, 100 * kMiB, 300 * kMiB}) {
    const CacheShares shares = divide(bytes);
    EXPECT_GT(shares.group, before);
    before = shares.group;
    EXPECT_GE(shares.ahead_bytes, shares.group * sizes_.max_bytes);
    EXPECT_LT(shares.ahead_bytes, bytes);
  }
}

// The division reads the fewest bytes among all divisions of the same memory.
TEST_F(CacheSharesTest, OtherDivisionsReadMore) {
  const double bytes = 300.0 * kMiB;
  const double sample = 16.0 * 7000, own = 0.5 * 7000 * 560, rows = 512.0 * 5e6, lists = 2.0 * 400 * kMiB;
  const auto scratch = static_cast<double>(sizes_.max_bytes);
  const auto read = [&](double group) {
    const double window = (bytes - group * scratch) / (sample + own);
    return rows / window + lists / group;
  };
  const auto chosen = static_cast<double>(divide(300 * kMiB).group);
  EXPECT_LT(read(chosen), read(chosen * 1.5));
  EXPECT_LT(read(chosen), read(chosen / 1.5));
}

TEST_F(CacheSharesTest, PacksAreForWhatDoesNotFitWhereTheDiskHasRoom) {
  const int64_t scratch = 2900 * kMiB;
  EXPECT_EQ(divide(500 * kMiB).scratch_bytes, 0);
  EXPECT_GT(divide(500 * kMiB, 400 * kMiB, scratch).scratch_bytes, 0);
  EXPECT_EQ(divide(500 * kMiB, 400 * kMiB, 20 * kMiB).scratch_bytes, 0)
      << "a round of a few blocks saves nothing";
  EXPECT_EQ(divide(3500 * kMiB, 400 * kMiB, scratch).scratch_bytes, 0) << "all rows fit";
  EXPECT_EQ(divide(10 * kMiB, 400 * kMiB, scratch).scratch_bytes, 0) << "buffers do not";
}

TEST_F(CacheSharesTest, NoMoreOfTheDiskIsTakenThanThereIsMemoryFor) {
  const int64_t much = 40 * 2900 * kMiB;
  const CacheShares shares = divide(100 * kMiB, 400 * kMiB, much);
  EXPECT_GT(shares.scratch_bytes, 0);
  EXPECT_LT(shares.scratch_bytes, much);
}

// If a few rows account for nearly all uses, memory for them saves more than memory for the topology.
TEST_F(CacheSharesTest, RowsThatAreUsedMostComeFirst) {
  const int64_t scratch = 2900 * kMiB;
  EXPECT_TRUE(divide(600 * kMiB, 400 * kMiB, scratch).topology);
  for (size_t row = 0; row < uses_.size(); ++row) uses_[row] = row < 700'000 ? 250 : 1;
  const CacheShares shares = divide(600 * kMiB, 400 * kMiB, scratch);
  EXPECT_GT(shares.scratch_bytes, 0);
  EXPECT_FALSE(shares.topology);
  EXPECT_GT(shares.group, CacheShares::kGroupInMemory);
  EXPECT_GE(shares.ahead_bytes, shares.group * sizes_.max_bytes);
}

// The estimated bytes decrease with more memory, and packs contain each row once.
TEST_F(CacheSharesTest, BytesArePredicted) {
  const int64_t scratch = 2900 * kMiB;
  double before = std::numeric_limits<double>::infinity();
  for (const int64_t bytes : {100 * kMiB, 300 * kMiB, 600 * kMiB}) {
    const CacheShares shares = divide(bytes, 400 * kMiB, scratch);
    EXPECT_LT(shares.bytes_read + shares.bytes_written, before);
    before = shares.bytes_read + shares.bytes_written;
    EXPECT_GT(shares.bytes_written, 0);
    EXPECT_EQ(shares.scattered_reads, 0) << "packs come in long pieces";
  }
  const double rows = 512.0 * 7000, note = 12.0 * 7000;
  EXPECT_LT(divide(200 * kMiB, 400 * kMiB, scratch).bytes_written, rows + note);
  for (size_t row = 0; row < uses_.size(); ++row)
    uses_[row] = row < 70'000 ? 255 : 0;  // All blocks use the same few rows.
  EXPECT_LT(divide(100 * kMiB, 400 * kMiB, scratch).bytes_written, rows / 4 + note);
  EXPECT_EQ(divide(3500 * kMiB, 400 * kMiB, scratch).bytes_read, 0) << "all rows are there";
}

// If memory holds one block, the estimate is compared with random rows that are merged in the test.
TEST_F(CacheSharesTest, ScatteredReadsAreThoseOfRandomRows) {
  std::mt19937 random(7);
  for (const int64_t rows : {21'000, 210'000, 5'040'000}) {
    const std::vector<uint8_t> uses(static_cast<size_t>(rows), 1);
    const CacheShares shares = divide_cache({.bytes = kMiB,
                                             .sizes = sizes_,
                                             .rows = {"", 0, rows, 128},
                                             .hops = 2,
                                             .sampled = true,
                                             .uses = uses,
                                             .counted_blocks = rows / 7000});
    std::vector<int64_t> all(static_cast<size_t>(rows)), sampled;
    std::iota(all.begin(), all.end(), 0);
    std::ranges::sample(all, std::back_inserter(sampled), 7000, random);
    double pieces = 1, bytes = 512;
    for (size_t i = 1; i < sampled.size(); ++i) {
      const int64_t step = sampled[i] - sampled[i - 1];
      const bool joined = (step - 1) * 512 <= SharedScan::kLongestGap;
      pieces += joined ? 0 : 1;
      bytes += 512.0 * static_cast<double>(joined ? step : 1);
    }
    const double note = 8.0 * 7000 + 4.0 * 7000;
    EXPECT_NEAR(shares.scattered_reads, pieces, 0.1 * pieces + 5) << rows;
    EXPECT_NEAR(shares.bytes_read - note, bytes + 512 * pieces, 0.15 * bytes) << rows;
  }
}

}  // namespace
}  // namespace plimsoll
