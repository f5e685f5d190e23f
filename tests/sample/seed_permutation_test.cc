#include "sample/seeds/seed_permutation.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "support/chi_square.h"

namespace plimsoll {
namespace {

std::vector<int64_t> order(uint64_t seed, uint32_t epoch, int64_t count) {
  const SeedPermutation permutation(seed, epoch, count);
  std::vector<int64_t> order;
  for (int64_t place = 0; place < count; ++place) order.push_back(permutation(place));
  return order;
}

TEST(SeedPermutation, VisitsEachOnce) {
  for (const int64_t count : {1, 2, 3, 4, 5, 16, 17, 255, 256, 257, 1000, 65537}) {
    const std::vector<int64_t> visited = order(3, 1, count);
    const std::set<int64_t> different(visited.begin(), visited.end());
    EXPECT_EQ(static_cast<int64_t>(different.size()), count);
    EXPECT_EQ(*different.begin(), 0);
    EXPECT_EQ(*different.rbegin(), count - 1);
  }
}

TEST(SeedPermutation, DependsOnSeedAndEpoch) {
  EXPECT_EQ(order(3, 1, 1000), order(3, 1, 1000));
  EXPECT_NE(order(3, 1, 1000), order(3, 2, 1000));
  EXPECT_NE(order(3, 1, 1000), order(4, 1, 1000));
}

TEST(SeedPermutation, IsLargeWhereCountsAre) {
  const SeedPermutation permutation(3, 1, int64_t{1} << 40);
  std::set<int64_t> found;
  for (int64_t place = 0; place < 1000; ++place) {
    const int64_t at = permutation(place);
    EXPECT_GE(at, 0);
    EXPECT_LT(at, int64_t{1} << 40);
    found.insert(at);
  }
  EXPECT_EQ(found.size(), 1000U);
}

// Over many epochs a place gets each item about equally often.
TEST(SeedPermutation, IsUniform) {
  constexpr int64_t kCount = 20;
  std::vector<int64_t> seen(kCount);
  for (uint32_t epoch = 1; epoch <= 20000; ++epoch) ++seen[SeedPermutation(9, epoch, kCount)(4)];
  EXPECT_LT(chi_square_deviations(seen, std::vector<double>(kCount, 1000)), 5);
}

}  // namespace
}  // namespace plimsoll
