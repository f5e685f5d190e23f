#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "can/windows/window_times.h"

namespace plimsoll {

/// The time from the start of attacks until a window was flagged. The result for a window is known after its
/// last frame or, if the detector looks ahead, after the last frame that it looks at. The delay of a
/// recording is counted from its first attack frame within its evaluated windows to the result of the first
/// flagged window that ends there or later.
struct DetectionDelay {
  int64_t recordings = 0;  ///< Recordings with attack frames in evaluated windows.
  int64_t detected = 0;    ///< Recordings in which a window was flagged at the first attack frame or later.
  int64_t timed = 0;       ///< Number of detected recordings with times that do not run backwards.
  double frames_sum = 0;   ///< Sum over the detected recordings.
  double milliseconds_sum = 0;  ///< Sum over the timed recordings.

  /// Adds a recording: its number, its evaluated windows in order, whether a window is flagged, and whether
  /// the detector looks ahead.
  void add(const WindowTimes& times, size_t recording, std::span<const int64_t> windows,
           const std::function<bool(int64_t)>& is_flagged, bool looks_ahead);
  /// Means over the detected recordings, or over the timed ones; undefined if there are none.
  std::optional<double> frames() const;
  std::optional<double> milliseconds() const;
};

}  // namespace plimsoll
