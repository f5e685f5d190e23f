#pragma once

#include <vector>

#include "base/words.h"

namespace plimsoll {

/// Returns all values of an enum that has a table of names.
template <Worded Enum>
std::vector<Enum> all_values() {
  std::vector<Enum> values;
  for (size_t i = 0; i < kWords<Enum>.size(); ++i) values.push_back(static_cast<Enum>(i));
  return values;
}

}  // namespace plimsoll
