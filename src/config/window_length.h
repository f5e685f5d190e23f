#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

enum class WindowUnit : uint8_t { frames, nanoseconds };

/// A window or stride as it is written: "100" frames, or time as "250us", "50ms" or "1.5s".
struct WindowLength {
  int64_t value;
  WindowUnit unit;

  /// What a window by time may last, in nanoseconds.
  static constexpr int64_t kMinTime = 1000;
  static constexpr int64_t kMaxTime = int64_t{3600} * 1'000'000'000;
  /// From one window of frames to the next.
  static constexpr int64_t kMaxStride = 1'000'000'000;

  /// Errors: UsageError that shows what is understood.
  static WindowLength parse(std::string_view text);
  /// The shortest way to write it with a whole number.
  std::string text() const;
  friend bool operator==(const WindowLength&, const WindowLength&) = default;
};

/// Number of windows after a window that share a part with it, where one begins every `stride`: a window and
/// the next one after these have nothing in common. Both lengths are of one unit, and above 0.
constexpr int64_t overlapping_windows(int64_t window, int64_t stride) {
  return (window - 1) / stride;
}

}  // namespace plimsoll
