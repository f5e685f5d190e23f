#pragma once

#include <string>
#include <string_view>

#include "can/capture/capture_format.h"

namespace plimsoll {

/// What the times of a candump log are.
struct CandumpTimes {
  enum Kind {
    absolute,     ///< since 1970 or since the first frame: -t a, A and z
    differences,  ///< since the frame before: -t d
    none          ///< without -t
  } kind = absolute;
  std::string warning = {};  ///< what is to be said about it

  /// By the option, or by the first lines: only -t d and -t z write three digits before the point and begin
  /// with 0, and only times of -t d run back all the while.
  static CandumpTimes of(const FormatOptions& options, std::string_view first_lines);
};

/// Whether a line of candump is no frame: a comment, the details of an error frame (-e), a count of lost
/// frames.
bool is_other_candump_line(std::string_view line);

/// A line without the sequences of a terminal that colour it (-c).
std::string without_colours(std::string_view line);

}  // namespace plimsoll
