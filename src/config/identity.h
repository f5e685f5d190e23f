#pragma once

#include <string>

#include "config/recipe.h"
#include "config/yaml_of.h"

namespace plimsoll {

/// Returns the text of a recipe that is part of the identity of a run and of its columns. It has the keys of
/// the first version (frozen), and each later key only if its value differs from the behaviour of versions
/// without the key (config/earlier_runs.h). So a run that was made before a key existed keeps its identity.
std::string identity_yaml(const Recipe& recipe);

/// Returns the keys of that text. `values` has all keys with their values; `defaults` has those of earlier
/// versions.
RecipeValues identity_values(const RecipeValues& values, const RecipeValues& defaults);

}  // namespace plimsoll
