#pragma once

#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

/// Keys, such as "training.batch_size", with their values as YAML has them.
using RecipeValues = std::vector<std::pair<std::string, std::string>>;

/// The keys as YAML, in sections. Keys of a section follow each other.
std::string yaml_of(const RecipeValues& values);

}  // namespace plimsoll
