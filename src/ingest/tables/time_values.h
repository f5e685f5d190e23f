#pragma once

#include <string>

#include "ingest/tables/arrow_type.h"
#include "ingest/tables/values.h"

namespace plimsoll {

/// Converts times to nanoseconds since 1970-01-01, in place; missing values are not changed. `unit` is D, s,
/// ms, us or ns. Errors: InputError, with the row counted from `first`, for a time before 1677-09-21 or after
/// 2262-04-11, which 64 bits cannot represent.
void to_nanoseconds(Values& values, const std::string& unit, int64_t first, const std::string& where);

/// Returns the unit of a time column. `given` is the unit from the user, or empty. Errors: UsageError (not a
/// time column, integers without a unit, a unit for a column that has one), InputError (no values).
std::string time_unit_of(const ArrowType& type, const std::string& given, const std::string& where);

}  // namespace plimsoll
