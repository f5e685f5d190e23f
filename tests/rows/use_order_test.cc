#include "rows/use_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <utility>

namespace plimsoll {
namespace {

// The reference is a list of (level, slot), sorted by level and then by insertion.
TEST(UseOrderTest, DoesWhatAListDoes) {
  constexpr int32_t kSlots = 40;
  UseOrder order(kSlots);
  std::list<std::pair<int32_t, int32_t>> expected;
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto slot = static_cast<int32_t>(random() % kSlots);
    expected.remove_if([&](const auto& place) { return place.second == slot; });
    if (random() % 3 == 0) {
      order.remove(slot);
    } else {
      const auto level = static_cast<int32_t>(random() % kUseLevels);
      order.place(slot, level);
      expected.insert(std::ranges::find_if(expected, [&](const auto& place) { return place.first > level; }),
                      {level, slot});
    }
    if (expected.empty()) continue;
    ASSERT_EQ(order.first_to_go(), expected.front().second);
  }
}

TEST(UseOrderTest, ARowThatIsUsedMoreIsOfNoLowerLevel) {
  EXPECT_EQ(use_level(0), 0);
  for (int uses = 1; uses < 256; ++uses) {
    EXPECT_GE(use_level(static_cast<uint8_t>(uses)), use_level(static_cast<uint8_t>(uses - 1)));
    EXPECT_LT(use_level(static_cast<uint8_t>(uses)), kUseLevels);
  }
}

}  // namespace
}  // namespace plimsoll
