#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

enum class WindowUnit : uint8_t { frames, nanoseconds };

/// The length of a window or stride: "100" frames, or a time such as "250us", "50ms" or "1.5s".
struct WindowLength {
  int64_t value;
  WindowUnit unit;

  /// Minimum and maximum of a window by time, in nanoseconds.
  static constexpr int64_t kMinTime = 1000;
  static constexpr int64_t kMaxTime = int64_t{3600} * 1'000'000'000;
  /// Maximum frames from one window of frames to the next.
  static constexpr int64_t kMaxStride = 1'000'000'000;

  /// Parses a length without checking its range: a number of frames may be negative. Errors: UsageError that
  /// lists the accepted forms.
  static WindowLength parse(std::string_view text);
  /// Returns the length in the largest unit in which it is a whole number.
  std::string text() const;
  friend bool operator==(const WindowLength&, const WindowLength&) = default;
};

/// Returns how many later windows overlap a window if a window starts every `stride`; the window after these
/// does not overlap it. Both lengths are in the same unit, and above 0.
constexpr int64_t overlapping_windows(int64_t window, int64_t stride) {
  return (window - 1) / stride;
}

}  // namespace plimsoll
