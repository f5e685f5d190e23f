#pragma once

#include <cstdint>
#include <span>

#include "can/windows/window_times.h"

namespace plimsoll {

/// How long the benign ones of a recording's windows lasted together, in hours: what false alarms are counted
/// over. A window lasts from the end of the one before it to its own, however long the windows are. The first
/// one of the recording has none before it and does not count, nor one in which time runs back or the bus
/// sleeps (WindowStream::kMaxPause); 0 for a recording without times. `truth`: [G], 0 for a benign window.
double benign_hours(const WindowTimes& times, size_t recording, int64_t first_graph,
                    std::span<const int64_t> windows, std::span<const uint8_t> truth);

}  // namespace plimsoll
