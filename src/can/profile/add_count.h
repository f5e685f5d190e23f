#pragma once

#include <fmt/format.h>

#include <limits>

#include "base/error.h"

namespace plimsoll {

/// Adds the count of another drive. Errors: InputError if the sum does not fit, because a file may hold any
/// count.
template <typename Count>
void add_count(Count& sum, Count more) {
  if (__builtin_add_overflow(sum, more, &sum))
    throw InputError(fmt::format("the sum of the drives' counts exceeds {}; merge fewer drives",
                                 std::numeric_limits<Count>::max()));
}

}  // namespace plimsoll
