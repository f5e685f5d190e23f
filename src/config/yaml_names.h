#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/yaml.h"

namespace plimsoll {

/// Returns the names of a list, or nullopt if the node is not a list of names.
std::optional<std::vector<std::string>> names_in(const YAML::Node& node);

}  // namespace plimsoll
