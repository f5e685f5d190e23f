#include "device/device_models.h"

#include <gmock/gmock.h>

#include "base/units.h"
#include "device/device_choice.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A card has less memory than its name says, because its driver keeps some.
TEST(DeviceModels, HaveAlmostTheMemoryOfTheirName) {
  for (const auto& [name, gib] : {std::pair("v100-16", 16),
                                  {"v100-32", 32},
                                  {"a100-40", 40},
                                  {"a100-80", 80},
                                  {"h100", 80},
                                  {"h200", 141},
                                  {"rtx3060-12", 12},
                                  {"rtx4090-24", 24}}) {
    const int64_t bytes = find_device_model(name).bytes;
    EXPECT_EQ(find_device_model(name).is_measured, std::string_view(name) == "h200");
    EXPECT_LT(bytes, gib * kGiB) << name;
    EXPECT_GT(bytes, gib * kGiB * 97 / 100) << name;
  }
}

TEST(DeviceModels, TheNearestNameIsGiven) {
  EXPECT_THAT(error_text<UsageError>([] { find_device_model("v100-15"); }),
              AllOf(HasSubstr("--device-model"), HasSubstr("found 'v100-15'"), HasSubstr("'v100-16'")));
  EXPECT_THAT(error_text<UsageError>([] { find_device_model("tpu"); }), HasSubstr("rtx4090-24"));
}

TEST(DeviceModels, ACardOfAnotherModelOrSizeIsRefused) {
  const DeviceModel& planned = find_device_model("v100-16");
  require_device_model(planned, "cuda:0, Tesla V100-SXM2-16GB", 16'928'342'016);
  require_device_model(find_device_model("h200"), "cuda:0, NVIDIA H200", 143'771 * kMiB);
  EXPECT_THAT(error_text<NoDevice>(
                  [&] { require_device_model(planned, "cuda:0, Tesla V100-PCIE-32GB", 32'501 * kMiB); }),
              AllOf(HasSubstr("--device-model v100-16"), HasSubstr("V100-PCIE-32GB with 31.7 GiB"),
                    HasSubstr("gres")));
  EXPECT_THAT(
      error_text<NoDevice>([&] { require_device_model(planned, "cuda:1, NVIDIA RTX A4000", 16 * kGiB); }),
      HasSubstr("expected V100"));
}

}  // namespace
}  // namespace plimsoll
