#include "cli/number_checks.h"

#include <fmt/format.h>

#include <cmath>

namespace plimsoll {
namespace {

// Accepts a number for which `holds` returns true. The help shows `shown` after the option's type.
template <typename T, typename Holds>
CLI::Validator check(const std::string& expected, const std::string& shown, Holds holds) {
  return {[=](std::string& text) {
            T value{};
            if (CLI::detail::lexical_cast(text, value) && holds(value)) return std::string();
            return fmt::format("found '{}', expected {}", text, expected);
          },
          shown};
}

}  // namespace

CLI::Validator at_least(int64_t min) {
  return check<int64_t>(fmt::format("a whole number of {} or more", min), fmt::format("{} or more", min),
                        [=](int64_t value) { return value >= min; });
}

CLI::Validator within(double min, double max) {
  return check<double>(fmt::format("a number from {:g} to {:g}", min, max),
                       fmt::format("{:g} to {:g}", min, max),
                       [=](double value) { return value >= min && value <= max; });
}

CLI::Validator finite() {
  return check<double>("a number", "", [](double value) { return std::isfinite(value); });
}

}  // namespace plimsoll
