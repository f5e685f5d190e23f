#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "kernels/segment/segment.h"

namespace plimsoll {

/// The kind of segment_reduce that a name stands for. Errors: UsageError.
inline Reduce reduce_kind(std::string_view name) {
  if (name == "sum") return Reduce::sum;
  if (name == "mean") return Reduce::mean;
  if (name == "max") return Reduce::max;
  throw UsageError("segment_reduce: '" + std::string(name) + "' is not sum, mean or max");
}

}  // namespace plimsoll
