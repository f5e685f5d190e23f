#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "can/windows/window_times.h"

namespace plimsoll {

/// How long attacks went on before a window was flagged. The verdict on a window is there with its last
/// frame; of a detector that looks ahead with the last frame that it looks at. The delay of a recording runs
/// from its first attack frame, of those that its judged windows hold, to the verdict on the first flagged
/// window that ends there or later.
struct DetectionDelay {
  int64_t recordings = 0;  ///< with attack frames in judged windows
  int64_t detected = 0;
  int64_t timed = 0;            ///< of those detected, with times that do not run back
  double frames_sum = 0;        ///< of those detected
  double milliseconds_sum = 0;  ///< of those timed

  /// Adds a recording: its number, its judged windows in order, whether a window is flagged, and whether the
  /// detector looks ahead.
  void add(const WindowTimes& times, size_t recording, std::span<const int64_t> windows,
           const std::function<bool(int64_t)>& is_flagged, bool looks_ahead);
  /// Means over the recordings; undefined where none was detected, or none of them has times.
  std::optional<double> frames() const;
  std::optional<double> milliseconds() const;
};

}  // namespace plimsoll
