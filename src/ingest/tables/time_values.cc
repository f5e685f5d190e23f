#include "ingest/tables/time_values.h"

#include <fmt/format.h>

#include "base/error.h"

namespace plimsoll {
namespace {

int64_t nanoseconds_of(const std::string& unit) {
  if (unit == "D") return int64_t{86400} * 1000000000;
  if (unit == "s") return 1000000000;
  if (unit == "ms") return 1000000;
  return unit == "us" ? 1000 : 1;
}

}  // namespace

void to_nanoseconds(Values& values, const std::string& unit, int64_t first, const std::string& where) {
  const int64_t factor = nanoseconds_of(unit);
  for (size_t row = 0; row < values.rows; ++row) {
    int64_t& time = values.integers[row];
    if (values.valid[row] == 0) continue;
    if (__builtin_mul_overflow(time, factor, &time))
      throw InputError(
          fmt::format("{}: row {}, counted from 0, has a time outside the years 1678 to 2261, which "
                      "nanoseconds in 64 bits cannot hold; fix the time, or leave it empty",
                      where, first + static_cast<int64_t>(row)));
  }
}

std::string time_unit_of(const ArrowType& type, const std::string& given, const std::string& where) {
  if (type.kind == ValueKind::time) {
    if (!given.empty())
      throw UsageError(fmt::format("{}: already has the unit {}; leave {} out", where, type.unit, given));
    return type.unit;
  }
  if (type.kind != ValueKind::integer)
    throw UsageError(
        fmt::format("{}: has the Arrow format '{}', expected a time or integers", where, type.format));
  if (given.empty())
    throw UsageError(fmt::format("{}: contains integers; give their unit (s, ms, us or ns)", where));
  if (given != "s" && given != "ms" && given != "us" && given != "ns")
    throw UsageError(fmt::format("{}: the unit is {}, expected s, ms, us or ns", where, given));
  return given;
}

}  // namespace plimsoll
