#include "can/detector/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/made_detector.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

class Calibrate : public BehaviourTest {};

TEST_F(Calibrate, FramesThatVerifyRefusesTeachNothing) {
  const auto model = folder_ / "model.safetensors";
  MadeDetector{}.write(model);
  std::vector<Frame> frames = every(kMs, 0x100, 400);
  frames[7].label = 9;
  const FramesView set = make({{"train", frames}});
  const std::string error = error_text<InputError>(
      [&] { calibrate_detector(DetectorFile(model), set.set().folder(), folder_ / "car.safetensors"); });
  EXPECT_THAT(error, HasSubstr("frame 7: label 9"));
  EXPECT_THAT(error, HasSubstr(set.set().folder().string()));
}

}  // namespace
}  // namespace plimsoll
