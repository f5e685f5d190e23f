#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace plimsoll {

/// How a figure differs between models that were trained with different seeds.
struct SeedSpread {
  double median;  ///< For an even number of models, the mean of the two in the middle.
  double min, max;

  /// Returns the spread of some figures; nothing if there is none, or one is undefined.
  static std::optional<SeedSpread> of(const std::vector<std::optional<double>>& figures);
  /// Returns a text such as "0.8741 [0.8720, 0.8755]": median, smallest and largest.
  std::string text() const;
  Json json() const;
};

}  // namespace plimsoll
