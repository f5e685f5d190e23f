#pragma once

#include <cstdint>
#include <span>

#include "can/windows/window_times.h"

namespace plimsoll {

/// Total duration of the benign windows of a recording in hours, over which false alarms are counted. A
/// window lasts from the end of the one before to its own end, however long the windows are. The first window
/// of the recording, windows in which time runs backwards, and windows in which the bus sleeps
/// (WindowStream::kMaxPause) are not counted. The result is 0 for a recording without times. `truth` [G] is 0
/// for a benign window.
double benign_hours(const WindowTimes& times, size_t recording, int64_t first_graph,
                    std::span<const int64_t> windows, std::span<const uint8_t> truth);

}  // namespace plimsoll
