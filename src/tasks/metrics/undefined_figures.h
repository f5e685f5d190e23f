#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// Returns a metric, which is undefined if it needs a class that is absent: null in JSON, "-" in a table.
inline Json figure_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

inline std::string figure_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "-";
}

}  // namespace plimsoll
