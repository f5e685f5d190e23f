#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// A figure that may be undefined, because it needs a class that is absent: null in JSON, "-" in a table.
inline Json figure_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

inline std::string figure_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "-";
}

}  // namespace plimsoll
