#pragma once

#include <string>

#include "ingest/tables/arrow_type.h"
#include "ingest/tables/values.h"

namespace plimsoll {

/// Converts times to nanoseconds since 1970-01-01, in place. `unit` is D, s, ms, us or ns. Errors:
/// InputError, with the row counted from `first`, for a time before 1677 or after 2262, which 64 bits cannot
/// represent.
void to_nanoseconds(Values& values, const std::string& unit, int64_t first, const std::string& where);

/// Returns the unit of a time column. Errors: UsageError (not a time column, or integers without a unit).
std::string time_unit_of(const ArrowType& type, const std::string& given, const std::string& where);

}  // namespace plimsoll
