#include "engine/plan/blocks_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace plimsoll {
namespace {

constexpr int64_t kCache = 100;  // Bytes of the largest cache.

// 1,000 graphs. Nothing is read if all of them are in the cache.
class CachedSource : public BlockSource {
 public:
  /// An epoch without a cache reads `bytes` bytes.
  explicit CachedSource(double bytes, int64_t cache = kCache) : bytes_(bytes), cache_(cache) {}
  int64_t graphs() const override { return 1000; }
  int64_t node_features() const override { return 1; }
  int64_t edge_features() const override { return 0; }
  const GraphSetTables& tables() const override { return tables_; }
  void read(std::span<const int64_t>, GraphBlock&) const override {}
  int64_t max_cache_bytes() const override { return cache_; }
  std::optional<ReadingCost> reading_cost(int64_t cache_bytes) const override {
    if (cache_ == 0) return std::nullopt;
    const double missing = 1 - static_cast<double>(cache_bytes) / static_cast<double>(cache_);
    return ReadingCost{.read = bytes_ * missing, .training = graphs()};
  }

 private:
  double bytes_;
  int64_t cache_;
  GraphSetTables tables_;
};

// A block needs 40 bytes, and a block that is read ahead needs 20.
LeftByBlocks left_by(const BlocksAhead& asked) {
  const int64_t rest = 120 - 40 * asked.blocks;
  const int64_t prefetch = std::min(asked.prefetch, rest / 20);
  return {std::min(rest - 20 * prefetch, kCache), prefetch};
}

BlocksAhead choose(const BlockSource& source, int64_t graph_bytes) {
  const BlocksAhead chosen = choose_blocks(source, {2, 2}, graph_bytes, left_by);
  EXPECT_EQ(left_by(chosen).prefetch, chosen.prefetch) << "no more than fit";
  return chosen;
}

TEST(BlocksAhead, WithoutACacheThereAreAsManyAsFit) {
  const BlocksAhead chosen = choose(CachedSource(1e12, 0), 2'000'000);
  EXPECT_EQ(chosen.blocks, 2);
  EXPECT_EQ(chosen.prefetch, 2);
}

TEST(BlocksAhead, WithAFullCacheThereAreAsManyAsFit) {
  const BlocksAhead chosen =
      choose_blocks(CachedSource(1e12), {2, 2}, 2'000'000, [](const BlocksAhead& asked) {
        return LeftByBlocks{kCache, asked.prefetch};
      });
  EXPECT_EQ(chosen.blocks, 2);
  EXPECT_EQ(chosen.prefetch, 2);
}

// Without a cache, reading takes 1 s; computing one block after the other takes 20 s.
TEST(BlocksAhead, WhereProcessorsBindTheyAreNotFewer) {
  EXPECT_EQ(choose(CachedSource(1e9), 40'000'000).blocks, 2);
}

// Without a cache, reading takes 200 s; computing one block after the other takes 20 s.
TEST(BlocksAhead, WhereTheDiskBindsTheyLeaveTheirMemoryToRows) {
  const BlocksAhead chosen = choose(CachedSource(200e9), 40'000'000);
  EXPECT_EQ(chosen.blocks, 1);
  EXPECT_EQ(chosen.prefetch, 0);
}

TEST(BlocksAhead, ABlockIsReadAheadIfThatIsFaster) {
  // One block ahead: 20 s of computing, next to 6 s of reading. None: 20 s and 2 s.
  const BlocksAhead chosen =
      choose_blocks(CachedSource(10e9), {1, 1}, 40'000'000, [](const BlocksAhead& asked) {
        return LeftByBlocks{80 - 40 * asked.prefetch, asked.prefetch};
      });
  EXPECT_EQ(chosen.prefetch, 1);
}

// Two blocks in flight leave no memory for a third. One and one ahead: 20 s of computing, next to 6 s of
// reading. Two: 50 s of reading.
TEST(BlocksAhead, FewerBlocksMayBeReadAheadThoughMoreMayNot) {
  const BlocksAhead chosen =
      choose_blocks(CachedSource(50e9), {2, 1}, 40'000'000, [](const BlocksAhead& asked) {
        if (asked.blocks == 2) return LeftByBlocks{0, 0};
        return LeftByBlocks{asked.prefetch > 0 ? 88 : 90, asked.prefetch};
      });
  EXPECT_EQ(chosen.blocks, 1);
  EXPECT_EQ(chosen.prefetch, 1);
}

}  // namespace
}  // namespace plimsoll
