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
    int64_t parent;  ///< Negative for a root.
    float x, y, z, radius;
    int32_t type;
    int32_t line;  ///< Line number in the file, from 1.
  };
  Vector<Point, Tag::ingest> points;
};

/// Replaces `rows` with the points in lines of `id type x y z radius parent`, in any order. Fields are
/// separated by blanks or tabs; additional fields are ignored. Comments start with #, and `SCALE sx sy sz` in
/// a comment multiplies all coordinates, but not radii; the last such comment applies. `name` is used in
/// error messages. Errors: InputError with file and line for invalid lines, numbers that are not finite, and
/// a file without points; BudgetExceeded.
void read_swc(std::string_view text, const std::string& name, SwcRows& rows);

}  // namespace plimsoll
