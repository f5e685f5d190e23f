#include "engine/model_file/model_options.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxWidths = 64;

void require_in(int64_t value, const WholeOption& range) {
  if (value < range.min || value > range.max)
    throw UsageError(
        fmt::format("found {}, expected a whole number from {} to {}", value, range.min, range.max));
}

}  // namespace

void read_option(int64_t& value, const Json& json, const WholeOption& range) {
  value = whole_number(json);
  require_in(value, range);
}

void read_option(std::vector<int64_t>& values, const Json& json, const WholeOption& range) {
  if (!json.is_array() || json.empty() || json.size() > kMaxWidths)
    throw UsageError(fmt::format("expected a list of 1 to {} whole numbers", kMaxWidths));
  values = whole_numbers(json);
  for (const int64_t value : values) require_in(value, range);
}

void read_option(double& value, const Json& json, const RealOption& range) {
  if (!json.is_number()) throw UsageError(fmt::format("found {}, expected a number", json.type_name()));
  value = json.get<double>();
  if (!(value >= range.min && value <= range.max))
    throw UsageError(fmt::format("found {}, expected a number from {} to {}", value, range.min, range.max));
}

void read_option(bool& value, const Json& json) {
  value = json.get<bool>();
}

}  // namespace plimsoll
