#include "device/device_choice.h"

#include <gmock/gmock.h>

#include "base/units.h"
#include "device/cuda_device.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

using Kind = DeviceChoice::Kind;

TEST(DeviceChoice, ParsesWhatIsDocumentedAndNothingElse) {
  EXPECT_EQ(parse_device("cpu"), (DeviceChoice{Kind::cpu, 0}));
  EXPECT_EQ(parse_device("auto"), (DeviceChoice{Kind::automatic, 0}));
  EXPECT_EQ(parse_device("cuda"), (DeviceChoice{Kind::cuda, 0}));
  EXPECT_EQ(parse_device("cuda:3"), (DeviceChoice{Kind::cuda, 3, true}));
  EXPECT_EQ(parse_device("stand-in"), (DeviceChoice{Kind::stand_in, 0}));
  for (const char* const wrong :
       {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda: 1", "CUDA", "cuda:99999999999"})
    EXPECT_THROW((void)parse_device(wrong), UsageError) << wrong;
}

TEST(DeviceChoice, ADeviceThatIsNotThereIsRefusedWithTheRemedy) {
  EXPECT_EQ(cuda_index({Kind::cpu}), std::nullopt);
  const int count = find_cuda_devices().count;
  if (count > 0) {
    EXPECT_EQ(cuda_index({Kind::automatic}), 0);
  } else {
    EXPECT_EQ(cuda_index({Kind::automatic}), std::nullopt);
  }
  try {
    (void)cuda_index({Kind::cuda, count + 4});
    FAIL() << "there is none such";
  } catch (const NoDevice& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_THAT(error.what(), testing::HasSubstr("use "));
  }
}

TEST(DeviceChoice, MemoryThatOthersHoldIsNotFree) {
  const DeviceFacts shared{.name = "cuda:0, NVIDIA H200", .total = 24 * kGiB, .used = 20 * kGiB};
  EXPECT_EQ(free_device_budget("3GiB", shared), 3 * kGiB);
  EXPECT_EQ(free_device_budget("", shared), 4 * kGiB);
  EXPECT_EQ(free_device_budget("50%", shared), 2 * kGiB);
  EXPECT_EQ(free_device_budget("20GiB", {.name = "no monitor", .total = 24 * kGiB}), 20 * kGiB);
  EXPECT_THAT(error_text<NoDevice>([&] { free_device_budget("8GiB", shared); }),
              testing::AllOf(testing::HasSubstr("cuda:0, NVIDIA H200 has 4 GiB free of 24 GiB"),
                             testing::HasSubstr("other processes hold 20 GiB; wait for them")));
  EXPECT_THAT(error_text<UsageError>([&] { free_device_budget("25GiB", shared); }),
              testing::HasSubstr("more than the 24 GiB that the device has"));
}

TEST(DeviceChoice, BudgetsAreBytesOrAShareOfWhatIsThere) {
  EXPECT_EQ(device_budget("8GiB", 24 * kGiB), 8 * kGiB);
  EXPECT_EQ(device_budget("50%", 24 * kGiB), 12 * kGiB);
  EXPECT_EQ(device_budget("", 24 * kGiB), 24 * kGiB);
  EXPECT_EQ(device_budget("8GiB", {}), 8 * kGiB);
  EXPECT_THROW((void)device_budget("25GiB", 24 * kGiB), UsageError);
  EXPECT_THROW((void)device_budget("80%", {}), UsageError);
  EXPECT_THROW((void)device_budget("", {}), UsageError);
  EXPECT_THROW((void)device_budget("much", 24 * kGiB), UsageError);
}

}  // namespace
}  // namespace plimsoll
