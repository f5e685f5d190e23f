#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "device/device.h"

namespace plimsoll {

// In builds with cmake -DPLIMSOLL_STAND_IN=ON, --device accepts `stand-in`: programs then run blocks on a
// host device instead of a GPU. It is for tests of jobs; releases do not have it.

/// Throws NoDevice, with the remedy, in a build without the stand-in.
void require_stand_in();

/// Bytes of the stand-in's memory, as many as a V100 with 16 GB has.
inline constexpr int64_t kStandInBytes = 16 * kGiB;

/// Returns the names of the stand-ins that CUDA_VISIBLE_DEVICES lists, of which each is a device of its own;
/// nullopt if it is not set: there are as many as are needed. Errors: NoDevice if it is empty.
std::optional<std::vector<std::string>> visible_stand_ins();

/// Opens the stand-in. Torch computes on the host in the stand-in's memory. Errors: those of
/// require_stand_in().
std::unique_ptr<Device> open_stand_in();

}  // namespace plimsoll
