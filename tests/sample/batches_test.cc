#include "sample/block/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace plimsoll {
namespace {

GraphList numbers(int64_t count) {
  GraphList list(static_cast<size_t>(count));
  std::iota(list.begin(), list.end(), int64_t{0});
  return list;
}

TEST(Shuffle, IsAPermutationKeyedBySeedAndEpoch) {
  GraphList first = numbers(1000);
  shuffle(first, 7, 1);
  GraphList again = numbers(1000);
  shuffle(again, 7, 1);
  EXPECT_EQ(first, again);
  GraphList other_epoch = numbers(1000);
  shuffle(other_epoch, 7, 2);
  EXPECT_NE(first, other_epoch);
  GraphList other_seed = numbers(1000);
  shuffle(other_seed, 8, 1);
  EXPECT_NE(first, other_seed);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, numbers(1000));
}

TEST(Shuffle, EveryPlaceIsReachedAboutEquallyOften) {
  constexpr int64_t kPlaces = 10;
  constexpr uint32_t kRuns = 20'000;
  std::vector<int64_t> where(kPlaces);  // Counts the places of graph 0.
  for (uint32_t epoch = 0; epoch < kRuns; ++epoch) {
    GraphList list = numbers(kPlaces);
    shuffle(list, 1, epoch);
    ++where[static_cast<size_t>(std::find(list.begin(), list.end(), 0) - list.begin())];
  }
  // 2,000 are expected; five standard deviations are 212.
  for (const int64_t count : where) EXPECT_NEAR(static_cast<double>(count), 2000, 212);
}

TEST(CutBlocks, ClosesBeforeALimitAndKeepsTheOrder) {
  const std::vector<GraphShape> shapes = {
      {10, 5, 0, 0}, {10, 5, 0, 0}, {10, 50, 0, 0}, {10, 5, 0, 0}, {10, 5, 0, 0}};
  const GraphList all = numbers(5);
  EXPECT_EQ(cut_blocks(all, shapes, {2, 1000, 1000}), (GraphList{0, 2, 4, 5}));
  EXPECT_EQ(cut_blocks(all, shapes, {100, 30, 1000}), (GraphList{0, 3, 5}));
  EXPECT_EQ(cut_blocks(all, shapes, {100, 1000, 55}), (GraphList{0, 2, 4, 5}));
}

TEST(CutBlocks, AGraphOverTheLimitsIsABlockByItself) {
  const std::vector<GraphShape> shapes = {{1, 1, 0, 0}, {999, 1, 0, 0}, {1, 1, 0, 0}};
  EXPECT_EQ(cut_blocks(numbers(3), shapes, {64, 100, 100}), (GraphList{0, 1, 2, 3}));
}

TEST(CutBlocks, NoGraphsNoBlocks) {
  EXPECT_EQ(cut_blocks({}, {}, {}), (GraphList{0}));
}

}  // namespace
}  // namespace plimsoll
