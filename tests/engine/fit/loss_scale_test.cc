#include "engine/fit/loss_scale.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

// Golden values of torch.amp.GradScaler with its defaults.
TEST(LossScale, HalvesAtOnceAndDoublesAfterGoodSteps) {
  LossScale scale{.factor = LossScale::kFirst};
  EXPECT_FALSE(scale.take(false));
  EXPECT_FALSE(scale.take(false));
  EXPECT_EQ(scale.factor, 16384);
  for (int64_t step = 1; step < LossScale::kGoodSteps; ++step) EXPECT_TRUE(scale.take(true));
  EXPECT_EQ(scale.factor, 16384);
  EXPECT_TRUE(scale.take(true));
  EXPECT_EQ(scale.factor, 32768);
  EXPECT_EQ(scale.good_steps, 0);
  EXPECT_TRUE(scale.take(true));
  EXPECT_FALSE(scale.take(false));
  EXPECT_EQ(scale.factor, 16384);
  EXPECT_EQ(scale.good_steps, 0);
}

}  // namespace
}  // namespace plimsoll
