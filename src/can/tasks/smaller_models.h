#pragma once

#include <vector>

#include "run/recipe_change.h"

namespace plimsoll {

// These functions add changes to a recipe that halve the models of its sections `gat`, `vgae` and `teacher`.

void add_smaller_gat(std::vector<RecipeChange>& changes, const Recipe& recipe);
void add_smaller_vgae(std::vector<RecipeChange>& changes, const Recipe& recipe);
void add_smaller_teachers(std::vector<RecipeChange>& changes, const Recipe& recipe);

}  // namespace plimsoll
