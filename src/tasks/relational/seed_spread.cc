#include "tasks/relational/seed_spread.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {

std::optional<SeedSpread> SeedSpread::of(const std::vector<std::optional<double>>& figures) {
  std::vector<double> values;
  for (const std::optional<double>& figure : figures)
    if (figure) values.push_back(*figure);
  if (values.empty() || values.size() != figures.size()) return std::nullopt;
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return SeedSpread{median, values.front(), values.back()};
}

std::string SeedSpread::text() const {
  return fmt::format("{:.4f} [{:.4f}, {:.4f}]", median, min, max);
}

Json SeedSpread::json() const {
  return {{"median", median}, {"min", min}, {"max", max}};
}

}  // namespace plimsoll
