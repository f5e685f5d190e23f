#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll {

/// How far values are from one target, with the definitions of scikit-learn. Undefined without a known
/// target; R2 also where all are the same.
struct TargetErrors {
  std::optional<double> mae;   ///< mean absolute error
  std::optional<double> rmse;  ///< square root of the mean squared error
  std::optional<double> r2;    ///< coefficient of determination
};

struct RegressionFigures {
  int64_t items = 0;                  ///< with a known target
  TargetErrors mean;                  ///< over the targets for which a figure is defined
  std::vector<TargetErrors> targets;  ///< one by one
};

/// Of values and targets [items, width], of which NaN is unknown.
RegressionFigures regression_figures(std::span<const float> values, std::span<const float> targets,
                                     int64_t width);

}  // namespace plimsoll
