#pragma once

#include <filesystem>

#include "config/recipe.h"

namespace plimsoll {

/// A recipe as versions took it that did not know the keys which came later: a run that they made goes on,
/// and is evaluated, under the same rules.
Recipe with_earlier_rules(Recipe recipe);

/// The recipe in the folder of a run, with_earlier_rules() where it has no rule of its own. Errors: as
/// load_recipe().
Recipe load_run_recipe(const std::filesystem::path& path);

}  // namespace plimsoll
