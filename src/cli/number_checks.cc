#include "cli/number_checks.h"

#include <fmt/format.h>

#include <cmath>

namespace plimsoll {
namespace {

// `holds` of the number that a text is; none is an error. The help shows `shown` after the option's type.
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

CLI::Validator at_least(int64_t least) {
  return check<int64_t>(fmt::format("a whole number of {} or more", least), fmt::format("{} or more", least),
                        [=](int64_t value) { return value >= least; });
}

CLI::Validator within(double least, double most) {
  return check<double>(fmt::format("a number from {:g} to {:g}", least, most),
                       fmt::format("{:g} to {:g}", least, most),
                       [=](double value) { return value >= least && value <= most; });
}

CLI::Validator finite() {
  return check<double>("a number", "", [](double value) { return std::isfinite(value); });
}

}  // namespace plimsoll
