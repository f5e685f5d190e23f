#include "can/tasks/detection_delay.h"

#include <algorithm>

namespace plimsoll {

void DetectionDelay::add(const WindowTimes& times, size_t recording, std::span<const int64_t> windows,
                         const std::function<bool(int64_t)>& is_flagged, bool looks_ahead) {
  int64_t attack = -1;
  for (const int64_t window : windows) {
    const int64_t first = times.first_attack[static_cast<size_t>(window)];
    if (first >= 0 && (attack < 0 || first < attack)) attack = first;
  }
  if (attack < 0) return;
  ++recordings;
  const int64_t ahead = looks_ahead ? times.look_ahead[recording] : 0;
  for (const int64_t window : windows) {
    const int64_t end = times.last_frame[static_cast<size_t>(window)];
    if (end < attack || !is_flagged(window)) continue;
    const int64_t verdict = std::min(end + ahead, times.last_of[recording]);
    ++detected;
    frames_sum += static_cast<double>(verdict - attack);
    const int64_t began_ns = times.time_ns[static_cast<size_t>(attack)];
    const int64_t evaluated_ns = times.time_ns[static_cast<size_t>(verdict)];
    if (!times.timed[recording] || evaluated_ns < began_ns) return;
    ++timed;
    // The subtraction is unsigned so that no pair of times overflows and no digit of the difference is lost.
    const uint64_t passed_ns = static_cast<uint64_t>(evaluated_ns) - static_cast<uint64_t>(began_ns);
    milliseconds_sum += static_cast<double>(passed_ns) / 1e6;
    return;
  }
}

std::optional<double> DetectionDelay::frames() const {
  if (detected == 0) return std::nullopt;
  return frames_sum / static_cast<double>(detected);
}

std::optional<double> DetectionDelay::milliseconds() const {
  if (timed == 0) return std::nullopt;
  return milliseconds_sum / static_cast<double>(timed);
}

}  // namespace plimsoll
