#pragma once

#include <cstdint>
#include <string>

#include "base/words.h"
#include "can/recipe/window_length.h"
#include "config/checks.h"
#include "config/key_values.h"

namespace plimsoll {

/// The features of windows of frames.
enum class WindowFeatures : uint8_t { compat, behaviour };
template <>
inline constexpr auto kWords<WindowFeatures> = std::to_array<std::string_view>({"compat", "behaviour"});

/// The windows that are made from frames: keys of the section `data`.
struct WindowSection {
  WindowFeatures features = WindowFeatures::compat;
  WindowLength window{100, WindowUnit::frames};
  WindowLength stride{100, WindowUnit::frames};
};

template <EitherOf<WindowSection> Section, typename Visit>
void visit_keys(Section& windows, Visit&& visit) {
  visit("features", windows.features, Choice<WindowFeatures>{});
  visit("window", windows.window, Range{2, 65535});
  visit("stride", windows.stride, kCount);
}

/// A key of the section `data`. It is separate because it is printed after other keys of that section.
struct CalibrationSection {
  int64_t calibration = 0;  ///< Maximum calibration windows per recording; 0: none.
};

template <EitherOf<CalibrationSection> Section, typename Visit>
void visit_keys(Section& calibration, Visit&& visit) {
  visit("calibration", calibration.calibration, Range{0, 1e9});
}

/// Reads a length; `frames` is the valid range of a length in frames, and WindowLength has that of a time.
/// Errors: UsageError.
void read_value(const std::string& key, WindowLength& value, const Range& frames, const Written& written);
/// The text from which read_value() reads this length.
std::string value_text(const WindowLength& value);

/// Sets the default stride of windows by time, which is the length of a window. Errors: UsageError for
/// lengths that cannot be combined.
void settle_windows(WindowSection& windows, const WrittenValues& written);

}  // namespace plimsoll
