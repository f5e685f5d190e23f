#pragma once

#include <string>
#include <string_view>

#include "can/capture/capture_format.h"

namespace plimsoll {

/// The kind of times in a candump log.
struct CandumpTimes {
  enum Kind {
    absolute,     ///< Times since 1970 or since the first frame: candump -t a, -t A or -t z.
    differences,  ///< Times since the frame before: candump -t d.
    none          ///< No times: candump without -t.
  } kind = absolute;
  std::string warning = {};  ///< Warning for the user; empty if there is none.

  /// Determines the kind. It is `none` if no line has a time, otherwise the one in options.time. Without that
  /// option the lines decide: only -t d and -t z write three digits before the point and start at 0, and only
  /// the times of -t d run backwards repeatedly or stay the same.
  static CandumpTimes detect(const FormatOptions& options, std::string_view first_lines);
};

/// Whether a line of candump is not a frame: a comment, the details of an error frame (-e), or a count of
/// lost frames.
bool is_other_candump_line(std::string_view line);

/// Returns a line without the colour sequences that candump -c writes.
std::string without_colours(std::string_view line);

}  // namespace plimsoll
