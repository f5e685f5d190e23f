#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/recipe.h"

namespace plimsoll {

/// A change to the recipe that may reduce the memory of a run.
struct RecipeChange {
  std::string text;                   ///< Text such as "gnn.heads=2".
  std::function<void(Recipe&)> make;  ///< Applies the change to a recipe.
  bool same_weights = false;          ///< Whether the run's result stays the same.
};

/// Adds a change that halves the value `now` of a key, unless it is below 2. `value_of` returns the key's
/// value in a recipe.
void add_half(std::vector<RecipeChange>& changes, const std::string& key, int64_t now,
              std::function<int64_t&(Recipe&)> value_of);

/// Returns changes that each halve one size in the recipe section of the model, `gnn` or `paths`.
std::vector<RecipeChange> smaller_gnn(const Recipe& recipe);

}  // namespace plimsoll
