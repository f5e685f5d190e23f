#include "base/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace plimsoll {
namespace {

using Counter = Philox::Counter;

// The known-answer vectors of Philox4x32-10 in Random123's kat_vectors.
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(Philox(0)({0, 0, 0, 0}), (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(0xffffffffffffffff)({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(0x299f31d0a4093822)({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsUsableInConstants) {
  static_assert(Philox(0)({0, 0, 0, 0})[0] == 0x6627e8d5);
}

TEST(PhiloxCounter, LaysOutItsWordsAsStoredRunsExpect) {
  EXPECT_EQ(philox_counter(Purpose::dropout, 7, 11, 13, 17), (Counter{17, 13, 11, 3U << 16 | 7}));
  EXPECT_EQ(static_cast<uint32_t>(Purpose::permutation), 1U);
  EXPECT_EQ(static_cast<uint32_t>(Purpose::initial_weights), 2U);
}

TEST(PhiloxCounter, NoTwoUsesShareANumber) {
  std::set<Counter> seen;
  int uses = 0;
  for (const Purpose purpose : {Purpose::permutation, Purpose::initial_weights, Purpose::dropout})
    for (const uint32_t layer : {0U, 1U, 65535U})
      for (const uint32_t epoch : {0U, 1U, 65536U})
        for (const uint32_t item : {0U, 1U, 65536U})
          for (const uint32_t quad : {0U, 1U, 65536U}) {
            seen.insert(philox_counter(purpose, layer, epoch, item, quad));
            ++uses;
          }
  EXPECT_EQ(static_cast<int>(seen.size()), uses);
}

TEST(Uniform, LiesInTheHalfOpenUnitInterval) {
  EXPECT_EQ(uniform(0), 0.0F);
  EXPECT_EQ(uniform(0x80000000), 0.5F);
  EXPECT_EQ(uniform(0xffffffff), 1.0F - 0x1p-24F);
  EXPECT_LT(uniform(0xffffffff), 1.0F);
}

TEST(Uniform, HasTheMeanAndSpreadOfAUniformNumber) {
  const Philox philox(42);
  double sum = 0;
  double squares = 0;
  constexpr int kQuads = 50'000;
  for (uint32_t quad = 0; quad < kQuads; ++quad)
    for (const uint32_t bits : philox(philox_counter(Purpose::dropout, 0, 0, 0, quad))) {
      sum += uniform(bits);
      squares += uniform(bits) * uniform(bits);
    }
  const double mean = sum / (4.0 * kQuads);
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(squares / (4.0 * kQuads) - mean * mean, 1.0 / 12, 0.002);
}

}  // namespace
}  // namespace plimsoll
