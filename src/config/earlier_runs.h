#pragma once

#include <filesystem>

#include "config/recipe.h"

namespace plimsoll {

/// Sets keys that earlier versions did not have to the values that correspond to the behaviour of those
/// versions. Runs of those versions are then continued and evaluated under the same rules.
Recipe with_earlier_rules(Recipe recipe);

/// Loads the recipe of a run from `path`, the file in the folder of the run. Keys that it lacks get the
/// values of with_earlier_rules(). Errors: InputError if there is no such file, and those of load_recipe().
Recipe load_run_recipe(const std::filesystem::path& path);

}  // namespace plimsoll
