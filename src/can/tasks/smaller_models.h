#pragma once

#include <vector>

#include "run/recipe_change.h"

namespace plimsoll {

// Changes of a recipe that halve a model of its sections `gat` and `vgae`, and of those of a teacher.

void add_smaller_gat(std::vector<RecipeChange>& changes, const Recipe& recipe);
void add_smaller_vgae(std::vector<RecipeChange>& changes, const Recipe& recipe);
void add_smaller_teachers(std::vector<RecipeChange>& changes, const Recipe& recipe);

}  // namespace plimsoll
