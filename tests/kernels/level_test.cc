#include "kernels/level.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"

namespace plimsoll {
namespace {

TEST(Level, HasTheNameThatTheVariableTakes) {
  EXPECT_EQ(name_of(Level::portable), "portable");
  EXPECT_EQ(name_of(Level::avx2), "avx2");
  EXPECT_EQ(name_of(Level::avx512), "avx512");
}

// The level is decided once per process, so each wish gets its own process.
class WishedLevel : public testing::Test {
 protected:
  WishedLevel() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // Exits with 0 if `wish` gives `expected`, with 1 if it gives another level, with 2 if it is refused.
  static void decide(const char* wish, Level expected) {
    setenv("PLIMSOLL_SIMD", wish, 1);
    try {
      std::_Exit(kernel_level() == expected ? 0 : 1);
    } catch (const UsageError&) {
      std::_Exit(2);
    }
  }
};

TEST_F(WishedLevel, IsTakenWhereTheProcessorHasIt) {
  for (const Level level : {Level::portable, Level::avx2, Level::avx512}) {
    const int expected = level <= best_level() ? 0 : 2;
    EXPECT_EXIT(decide(name_of(level).c_str(), level), testing::ExitedWithCode(expected), "")
        << name_of(level);
  }
}

TEST_F(WishedLevel, IsTheBestWithoutAName) {
  EXPECT_EXIT(decide("", best_level()), testing::ExitedWithCode(0), "");
}

TEST_F(WishedLevel, IsRefusedIfItIsNoName) {
  EXPECT_EXIT(decide("AVX2", Level::avx2), testing::ExitedWithCode(2), "");
  EXPECT_EXIT(decide("avx", Level::avx2), testing::ExitedWithCode(2), "");
}

}  // namespace
}  // namespace plimsoll
