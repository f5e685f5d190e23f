#pragma once

#include <string>

#include "ingest/tables/arrow_type.h"
#include "ingest/tables/values.h"

namespace plimsoll {

/// Copies rows `first` .. `first + rows - 1` of an Arrow array into `values`, taking the array's own offset
/// into account. Dictionaries and runs are resolved, and decimals become doubles. NaN, and the time -2^63,
/// become missing values; in a vector, a missing element becomes NaN. Texts are views into the array. Errors:
/// InputError for an array that visibly violates the C interface (missing buffers or children, descending
/// offsets, an index beyond its dictionary), and for an integer from 2^63 on; BudgetExceeded. `where` names
/// the column.
void decode_arrow(const ArrowType& type, const ArrowArray& array, int64_t first, int64_t rows,
                  const std::string& where, Values& values);

}  // namespace plimsoll
