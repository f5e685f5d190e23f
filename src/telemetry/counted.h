#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace plimsoll {

/// Returns a count with its noun: "1 edge", "2,000 edges", "0 classes". `noun` is the singular.
inline std::string counted(int64_t count, std::string_view noun) {
  std::string text = format_count(count) + " " + std::string(noun);
  if (count != 1) text += noun.ends_with('s') ? "es" : "s";
  return text;
}

}  // namespace plimsoll
