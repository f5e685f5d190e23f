#include "can/tasks/window_overlap.h"

#include <optional>

#include "base/error.h"
#include "can/recipe/window_length.h"

namespace plimsoll {

Overlap overlap_of_windows(int64_t window, int64_t stride) {
  return {overlapping_windows(window, stride), "a window shares frames"};
}

Overlap overlap_of_windows(const DataSetView& set) {
  const Json::json_pointer options("/provenance/options");
  if (!set.manifest().contains(options) || !set.manifest().at(options).is_object()) return {};
  const auto length = [&](const char* key) -> std::optional<WindowLength> {
    const Json value = set.manifest().at(options).value(key, Json());
    try {
      if (value.is_number_integer()) return WindowLength::parse(value.dump());
      if (value.is_string()) return WindowLength::parse(value.get<std::string>());
    } catch (const UsageError&) {
    }
    return std::nullopt;
  };
  const auto window = length("window");
  const auto stride = length("stride");
  if (!window || !stride || window->unit != stride->unit || window->value < 1 || stride->value < 1) return {};
  return overlap_of_windows(window->value, stride->value);
}

}  // namespace plimsoll
