#include "can/tasks/benign_time.h"

#include "can/windows/window_stream.h"

namespace plimsoll {

double benign_hours(const WindowTimes& times, size_t recording, int64_t first_graph,
                    std::span<const int64_t> windows, std::span<const uint8_t> truth) {
  if (!times.timed[recording]) return 0;
  const auto end_of = [&](size_t window) {
    return times.time_ns[static_cast<size_t>(times.last_frame[window])];
  };
  double total_ns = 0;
  for (const int64_t window : windows) {
    const auto at = static_cast<size_t>(window);
    if (window == first_graph || truth[at] != 0) continue;
    const int64_t before = end_of(at - 1);
    const int64_t end = end_of(at);
    // The subtraction is unsigned so that no pair of times overflows.
    const uint64_t passed = static_cast<uint64_t>(end) - static_cast<uint64_t>(before);
    if (end >= before && passed <= static_cast<uint64_t>(WindowStream::kMaxPause))
      total_ns += static_cast<double>(passed);
  }
  return total_ns / 3.6e12;
}

}  // namespace plimsoll
