#pragma once

#include <string>

#include "config/recipe.h"
#include "config/yaml_of.h"

namespace plimsoll {

/// Returns the part of a recipe's text that belongs to the identity of a run and of its columns. It has the
/// keys of the first version (frozen), and each later key only if its value differs from the behaviour of
/// versions without the key (config/earlier_runs.h). A run that was made before a key existed therefore keeps
/// its identity.
std::string identity_yaml(const Recipe& recipe);

/// Returns the keys and values of that text. `values` has the values of all keys; `defaults` has, for the
/// same keys in the same order, the values that correspond to earlier versions.
RecipeValues identity_values(const RecipeValues& values, const RecipeValues& defaults);

}  // namespace plimsoll
