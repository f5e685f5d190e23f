#pragma once

#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

/// Keys, such as "training.batch_size", with their values as YAML.
using RecipeValues = std::vector<std::pair<std::string, std::string>>;

/// Returns the keys as YAML, in sections. Keys of a section must be consecutive.
std::string yaml_of(const RecipeValues& values);

}  // namespace plimsoll
