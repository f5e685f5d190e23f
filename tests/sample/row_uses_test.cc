#include "sample/neighbour/row_uses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

TEST(RowUses, ExpectedRowsAreThoseOfIndependentBlocks) {
  std::vector<uint8_t> uses(3000, 0);
  std::fill_n(uses.begin(), 1000, uint8_t{10});        // Used by half of the blocks.
  std::fill_n(uses.begin() + 1000, 1000, uint8_t{5});  // Used by a quarter of the blocks.
  const RowUses rows(uses, 20, 750);
  EXPECT_NEAR(rows.distinct(1), 500 + 250, 1e-6);
  EXPECT_NEAR(rows.distinct(2), 750 + 1000 * (1 - 0.75 * 0.75), 1e-6);
  EXPECT_NEAR(rows.without_most_used(1000).distinct(1), 250, 1e-6);
  EXPECT_NEAR(rows.without_most_used(1600).distinct(1), 100, 1e-6);
  EXPECT_EQ(rows.without_most_used(2000).distinct(8), 0);
}

TEST(RowUses, RowsInAPackCountOnce) {
  const std::vector<uint8_t> uses(1000, 10);
  const RowUses rows(uses, 100, 100);
  EXPECT_NEAR(rows.packed(100), 100, 1) << "one block a pack";
  EXPECT_NEAR(rows.packed(651.3), 65.13, 1) << "ten: 1,000 * (1 - .9^10)";
}

// A byte counts up to 255: rows at 255 get all uses that are not counted elsewhere.
TEST(RowUses, WhatWasNotCountedIsOfThoseUsedMost) {
  std::vector<uint8_t> uses(100, 255);
  uses.resize(1100, 10);
  const RowUses rows(uses, 1000, 100 * 0.9 + 1000 * 0.01);
  EXPECT_NEAR(rows.without_most_used(0).distinct(1), 100, 1e-6);
  EXPECT_NEAR(rows.without_most_used(100).distinct(1), 10, 1e-6);
}

}  // namespace
}  // namespace plimsoll
