#include "sample/seeds/draws.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "support/chi_square.h"

namespace plimsoll {
namespace {

TEST(Draws, DependOnEachPartOfTheirKey) {
  const auto first = [](uint64_t seed, Purpose purpose, uint32_t epoch, int64_t item, uint64_t part) {
    return Draws(item_key(seed, purpose, epoch, item), purpose, part).bits();
  };
  const std::set<uint32_t> numbers = {
      first(1, Purpose::neighbours, 1, 1, 1),
      first(2, Purpose::neighbours, 1, 1, 1),
      first(1, Purpose::walks, 1, 1, 1),
      first(1, Purpose::neighbours, 2, 1, 1),
      first(1, Purpose::neighbours, 1, 2, 1),
      first(1, Purpose::neighbours, 1, 1, 2),
      first(1, Purpose::neighbours, 1, 1LL << 32, 1),
      first(1, Purpose::neighbours, 1, 1, 1ULL << 32),
  };
  EXPECT_EQ(numbers.size(), 8U);
  EXPECT_EQ(first(1, Purpose::neighbours, 1, 1, 1), first(1, Purpose::neighbours, 1, 1, 1));
}

TEST(Draws, BelowIsUniform) {
  for (const uint64_t n : {3ULL, 7ULL, 64ULL, 1000ULL}) {
    Draws draws(item_key(5, Purpose::neighbours, 1, 0), Purpose::neighbours, n);
    std::vector<int64_t> counts(n);
    for (uint64_t i = 0; i < 1000 * n; ++i) ++counts[draws.below(n)];
    EXPECT_LT(chi_square_deviations(counts, std::vector<double>(n, 1000.0)), 5) << n;
  }
}

// Ranges of 3/4 of all 32-bit numbers, and of 3 * 2^33: without rejection their thirds would differ.
TEST(Draws, BelowIsUniformInLargeRanges) {
  for (const uint64_t n : {3ULL << 30, 3ULL << 33}) {
    Draws draws(item_key(5, Purpose::neighbours, 1, 0), Purpose::neighbours, n);
    std::array<int64_t, 3> counts{};
    for (int i = 0; i < 30'000; ++i) ++counts[draws.below(n) / (n / 3)];
    EXPECT_LT(chi_square_deviations(counts, std::array<double, 3>{10'000, 10'000, 10'000}), 5) << n;
  }
}

TEST(Draws, UniformLiesBetween0And1) {
  Draws draws(1, Purpose::neighbours, 0);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double number = draws.uniform();
    ASSERT_GT(number, 0);
    ASSERT_LT(number, 1);
    sum += number;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 5 * 0.2887 / 100);
}

}  // namespace
}  // namespace plimsoll
