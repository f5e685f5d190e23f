#include "device/stand_in.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "device/device_choice.h"
#include "device/host_device.h"

namespace plimsoll {

void require_stand_in() {
  if (PLIMSOLL_STAND_IN == 0)
    throw NoDevice(
        "--device stand-in: this build has no stand-in for a GPU; configure with -DPLIMSOLL_STAND_IN=ON, "
        "which is for tests, or use --device cpu");
}

std::optional<std::vector<std::string>> visible_stand_ins() {
  const char* const visible = std::getenv(kVisibleDevices);
  if (visible == nullptr) return {};
  if (*visible == '\0') throw NoDevice(fmt::format("--device stand-in: {}", kNoneVisible));
  std::vector<std::string> names;
  std::istringstream list(visible);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

std::unique_ptr<Device> open_stand_in() {
  require_stand_in();
  return make_host_device({.bytes = kStandInBytes, .host_computes = true});
}

}  // namespace plimsoll
