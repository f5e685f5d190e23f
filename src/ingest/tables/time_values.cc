#include "ingest/tables/time_values.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/words.h"

namespace plimsoll {

/// The unit of a time. Days occur only in Arrow.
enum class TimeUnit : uint8_t { s, ms, us, ns, day };
template <>
inline constexpr auto kWords<TimeUnit> = std::to_array<std::string_view>({"s", "ms", "us", "ns", "D"});

namespace {

int64_t nanoseconds_of(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::day:
      return int64_t{86400} * 1'000'000'000;
    case TimeUnit::s:
      return 1'000'000'000;
    case TimeUnit::ms:
      return 1'000'000;
    case TimeUnit::us:
      return 1000;
    case TimeUnit::ns:
      break;
  }
  return 1;
}

}  // namespace

void to_nanoseconds(Values& values, const std::string& unit, int64_t first, const std::string& where) {
  const int64_t factor = nanoseconds_of(parse_word<TimeUnit>(unit, where));
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
  if (type.kind == ValueKind::nothing)
    throw InputError(where + ": has no values, expected times; add rows to the table, or remove its file");
  if (type.kind != ValueKind::integer)
    throw UsageError(
        fmt::format("{}: has the Arrow format '{}', expected a time or integers", where, type.format));
  if (given.empty())
    throw UsageError(fmt::format("{}: contains integers; give their unit (s, ms, us or ns)", where));
  if (find_word<TimeUnit>(given).value_or(TimeUnit::day) == TimeUnit::day)
    throw UsageError(fmt::format("{}: the unit is {}, expected s, ms, us or ns", where, given));
  return given;
}

}  // namespace plimsoll
