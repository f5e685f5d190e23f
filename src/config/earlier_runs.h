#pragma once

#include <filesystem>

#include "config/recipe.h"

namespace plimsoll {

/// Returns the recipe with the values that earlier versions, without the later keys, used. Runs of these
/// versions are continued and evaluated under the same rules.
Recipe with_earlier_rules(Recipe recipe);

/// Loads the recipe in the folder of a run, and applies with_earlier_rules() to the keys that it lacks.
/// Errors: those of load_recipe().
Recipe load_run_recipe(const std::filesystem::path& path);

}  // namespace plimsoll
