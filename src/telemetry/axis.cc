#include <algorithm>
#include <cmath>

#include "telemetry/chart.h"

namespace plimsoll {
namespace {

std::vector<double> linear_ticks(double low, double high, double min_step) {
  constexpr double kAbout = 5;
  const double rough = (high - low) / kAbout;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double lead = rough / power;
  const double step = std::max(min_step, power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10));
  std::vector<double> result;
  const double slack = step * 1e-9;
  for (double k = std::ceil((low - slack) / step); k * step <= high + slack; ++k) result.push_back(k * step);
  return result;
}

std::vector<double> log_ticks(double low, double high) {
  const double first = std::floor(std::log10(low) + 1e-9);
  const double last = std::ceil(std::log10(high) - 1e-9);
  const bool few = last - first < 3;
  const double stride = std::max(1.0, std::ceil((last - first) / 6));
  std::vector<double> result;
  for (double power = first; power <= last; power += stride)
    for (const double lead : {1.0, 2.0, 5.0}) {
      const double tick = lead * std::pow(10, power);
      if ((lead == 1 || few) && tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) result.push_back(tick);
    }
  return result;
}

}  // namespace

std::vector<double> ticks(const Axis& axis) {
  if (axis.scale == Axis::Scale::log) return log_ticks(axis.low, axis.high);
  return linear_ticks(axis.low, axis.high, axis.whole ? 1 : 0);
}

Axis axis_over(std::string label, const std::vector<double>& values) {
  Axis axis;
  axis.label = std::move(label);
  double min = 0;  // Minimum of the values above 0.
  double max = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    axis.low = std::min(axis.low, value);
    max = std::max(max, value);
    if (value > 0 && (min == 0 || value < min)) min = value;
  }
  constexpr double kWide = 30;
  if (axis.low == 0 && min > 0 && max > kWide * min) {
    axis.scale = Axis::Scale::log;
    axis.low = std::pow(10, std::floor(std::log10(min)));
    axis.high = std::pow(10, std::ceil(std::log10(max)));
  } else if (max > axis.low) {
    axis.high = max + 0.05 * (max - axis.low);
  }
  return axis;
}

}  // namespace plimsoll
