#pragma once

#include <filesystem>

#include "can/simulate/attacks.h"
#include "can/simulate/simulate.h"

namespace plimsoll {

/// Writes labelled frames of a simulated bus.
inline void write_bus(const std::filesystem::path& folder, int64_t frames) {
  simulate_can({.out = folder, .frames = frames, .attacks = parse_attacks("DoS,spoofing")},
               [](int64_t, int64_t) {});
}

}  // namespace plimsoll
