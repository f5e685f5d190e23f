#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "can/capture/channel_choice.h"

namespace plimsoll {

/// Returns how far the earliest time in a file's first lines is below 0; 0 if no time is negative. A file
/// with negative times counts from its earliest time, because a data set has no negative times.
/// `time_of(line)` returns the time of a line and may throw LineError if it has none.
template <typename TimeOf>
int64_t negative_reach(std::string_view first_lines, TimeOf&& time_of) {
  int64_t earliest = 0;
  while (!first_lines.empty()) {
    const std::string_view line = take_line(first_lines);
    if (line.find('-') == std::string_view::npos) continue;
    try {
      earliest = std::min<int64_t>(earliest, time_of(line));
    } catch (const LineError&) {
      continue;
    }
  }
  return -std::max(earliest, -kMaxTime);
}

}  // namespace plimsoll
