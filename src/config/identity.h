#pragma once

#include <string>

#include "config/recipe.h"
#include "config/yaml_of.h"

namespace plimsoll {

/// The text of a recipe that goes into the identity of a run and of its columns. It has the keys of the first
/// version (frozen), and each later key only where its value differs from what versions without the key did
/// (config/earlier_runs.h): a run that was made before a key existed keeps its identity.
std::string identity_yaml(const Recipe& recipe);

/// The keys of that text, of all keys with their values, and those of earlier versions.
RecipeValues identity_values(const RecipeValues& values, const RecipeValues& defaults);

}  // namespace plimsoll
