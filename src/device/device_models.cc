#include "device/device_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/units.h"
#include "base/words.h"
#include "device/device_choice.h"

namespace plimsoll {
namespace {

// Converts hundredths of a GiB, the precision of torch's messages, to bytes.
constexpr int64_t hundredths(int64_t count) {
  return count * kGiB / 100;
}

// Each total is the smallest in published messages of torch, such as "total capacity of 15.77 GiB". Totals
// differ by up to 1 % between boards and drivers.
constexpr auto kModels = std::to_array<DeviceModel>({
    {"rtx3060-12", "RTX 3060", hundredths(11'72)},
    {"v100-16", "V100", hundredths(15'77)},
    {"rtx4090-24", "RTX 4090", hundredths(23'64)},
    {"v100-32", "V100", hundredths(31'73)},
    {"a100-40", "A100", hundredths(39'38)},
    {"h100", "H100", hundredths(79'11)},
    {"a100-80", "A100", hundredths(79'14)},
    {"h200", "H200", hundredths(139'72), /*is_measured=*/true},
});

}  // namespace

std::span<const DeviceModel> device_models() {
  return kModels;
}

const DeviceModel& find_device_model(std::string_view name) {
  const auto found = std::ranges::find(kModels, name, &DeviceModel::name);
  if (found != kModels.end()) return *found;
  std::vector<std::string_view> names;
  for (const DeviceModel& model : kModels) names.push_back(model.name);
  throw unknown_word("--device-model", name, names);
}

void require_device_model(const DeviceModel& model, std::string_view reported, int64_t bytes) {
  // Drivers reserve a few percent of the memory, and the next larger size of a chip has at least half as much
  // again.
  constexpr double kSameSize = 0.1;
  const auto expected = static_cast<double>(model.bytes);
  const bool has_size = std::abs(static_cast<double>(bytes) - expected) <= kSameSize * expected;
  if (has_size && reported.find(model.chip) != std::string_view::npos) return;
  throw NoDevice(fmt::format(
      "--device-model {}: the device is {} with {}, expected {} with {}; request a node with that "
      "model (gres in the site's file, or --constraint), or plan again for this one",
      model.name, reported, format_bytes(bytes), model.chip, format_bytes(model.bytes)));
}

}  // namespace plimsoll
