#include "tasks/metrics/regression_metrics.h"

#include <cmath>

namespace plimsoll {
namespace {

// Calls take(value, target) for each known target of a column.
template <typename Take>
void each_known(std::span<const float> values, std::span<const float> targets, size_t column, size_t width,
                const Take& take) {
  for (size_t i = column; i < targets.size(); i += width)
    if (!std::isnan(targets[i])) take(double{values[i]}, double{targets[i]});
}

TargetErrors errors_of(std::span<const float> values, std::span<const float> targets, size_t column,
                       size_t width) {
  double count = 0, sum = 0, absolute = 0, squared = 0, around_mean = 0;
  each_known(values, targets, column, width, [&](double value, double target) {
    ++count;
    sum += target;
    absolute += std::abs(value - target);
    squared += (value - target) * (value - target);
  });
  if (count == 0) return {};
  const double mean = sum / count;
  each_known(values, targets, column, width,
             [&](double, double target) { around_mean += (target - mean) * (target - mean); });
  TargetErrors errors{absolute / count, std::sqrt(squared / count), {}};
  if (around_mean > 0) errors.r2 = 1 - squared / around_mean;
  return errors;
}

std::optional<double> mean_of(const std::vector<TargetErrors>& targets,
                              std::optional<double> TargetErrors::*figure) {
  double sum = 0, count = 0;
  for (const TargetErrors& target : targets)
    if (const std::optional<double>& found = target.*figure) {
      sum += *found;
      ++count;
    }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

}  // namespace

RegressionFigures regression_figures(std::span<const float> values, std::span<const float> targets,
                                     int64_t width) {
  const auto columns = static_cast<size_t>(width);
  RegressionFigures figures;
  for (size_t column = 0; column < columns; ++column)
    figures.targets.push_back(errors_of(values, targets, column, columns));
  for (size_t row = 0; row < targets.size(); row += columns) {
    bool known = false;
    for (const float target : targets.subspan(row, columns)) known |= !std::isnan(target);
    figures.items += known;
  }
  figures.mean = {mean_of(figures.targets, &TargetErrors::mae), mean_of(figures.targets, &TargetErrors::rmse),
                  mean_of(figures.targets, &TargetErrors::r2)};
  return figures;
}

}  // namespace plimsoll
