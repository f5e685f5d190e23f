#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "memory/vector.h"

namespace plimsoll {

/// The points of one SWC file in the order of its lines.
struct SwcRows {
  struct Point {
    int64_t id;
    int64_t parent;  ///< below 0: a root
    float x, y, z, radius;
    int32_t type;
    int32_t line;  ///< in the file, from 1
  };
  Vector<Point, Tag::ingest> points;
};

/// Reads `id type x y z radius parent` a line, separated by blanks or tabs, in any order of rows; comments
/// start with #, and one that says `SCALE sx sy sz` multiplies all coordinates. More fields on a line are
/// passed over. `name` is for the errors. Errors: InputError with file and line for what is not as above,
/// numbers that are not finite, and a file without points; BudgetExceeded.
void read_swc(std::string_view text, const std::string& name, SwcRows& rows);

}  // namespace plimsoll
