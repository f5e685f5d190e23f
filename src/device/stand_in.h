#pragma once

#include <cstdint>
#include <memory>

#include "base/units.h"
#include "device/device.h"

namespace plimsoll {

// Builds with cmake -DPLIMSOLL_STAND_IN=ON have the device word `stand-in`, with which programs run blocks on
// a host device instead of a GPU. It is for tests of jobs, and releases do not have it.

/// Throws NoDevice, with the remedy, in a build without it.
void require_stand_in();

/// Bytes that the stand-in has, as many as a V100 with 16 GB.
inline constexpr int64_t kStandInBytes = 16 * kGiB;

/// Opens the stand-in; torch computes in its memory on the host. Errors: those of require_stand_in().
std::unique_ptr<Device> open_stand_in();

}  // namespace plimsoll
