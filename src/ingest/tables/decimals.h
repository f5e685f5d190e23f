#pragma once

#include <cstddef>

#include "ingest/tables/arrow_type.h"
#include "ingest/tables/values.h"

namespace plimsoll {

/// Sets values.reals to the doubles nearest to the `values.rows` decimals of 32, 64, 128 or 256 bits at
/// `data`. values.reals must have that many entries.
void decode_decimals(const std::byte* data, const ArrowType& type, Values& values);

}  // namespace plimsoll
