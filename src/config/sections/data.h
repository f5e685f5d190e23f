#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/words.h"
#include "config/checks.h"
#include "config/window_length.h"

namespace plimsoll {

/// The features of windows of frames.
enum class WindowFeatures : uint8_t { compat, behaviour };
template <>
inline constexpr auto kWords<WindowFeatures> = std::to_array<std::string_view>({"compat", "behaviour"});

struct DataSection {
  WindowFeatures features = WindowFeatures::compat;
  WindowLength window{100, WindowUnit::frames};
  WindowLength stride{100, WindowUnit::frames};
  std::vector<std::string> without = {};  ///< Features to leave out.
  int64_t calibration = 0;                ///< Number of windows of each recording to calibrate on; 0: none.
};

template <EitherOf<DataSection> Section, typename Visit>
void visit_keys(Section& data, Visit&& visit) {
  visit("features", data.features, Choice<WindowFeatures>{});
  visit("window", data.window, Range{2, 65535});
  visit("stride", data.stride, kCount);
  visit("without", data.without, Names{});
  visit("calibration", data.calibration, Range{0, 1e9});
}

}  // namespace plimsoll
