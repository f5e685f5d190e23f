#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll {

/// The errors of predictions of one target, in the unit of the target and with the definitions of
/// scikit-learn. Undefined without a known target; R2 also if all known targets are equal.
struct TargetErrors {
  std::optional<double> mae;   ///< Mean absolute error.
  std::optional<double> rmse;  ///< Square root of the mean squared error.
  std::optional<double> r2;    ///< Coefficient of determination.
};

struct RegressionFigures {
  int64_t items = 0;                  ///< Number of items with a known target.
  TargetErrors mean;                  ///< Means over the targets for which a metric is defined.
  std::vector<TargetErrors> targets;  ///< Errors of each target.
};

/// Compares values and targets [items, width]; NaN marks an unknown target.
RegressionFigures regression_figures(std::span<const float> values, std::span<const float> targets,
                                     int64_t width);

}  // namespace plimsoll
