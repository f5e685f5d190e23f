#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/recipe.h"

namespace plimsoll {

/// A change of the recipe with which a run may need less memory.
struct RecipeChange {
  std::string text;  ///< Text such as "gnn.heads=2".
  std::function<void(Recipe&)> make;
  bool same_weights = false;  ///< Whether the run's result stays the same.
};

/// Adds the change that halves a key, unless its value `now` is below 2.
void add_half(std::vector<RecipeChange>& changes, const std::string& key, int64_t now,
              std::function<int64_t&(Recipe&)> value_of);

/// Returns the changes that halve the model of the sections `gnn` or `paths`.
std::vector<RecipeChange> smaller_gnn(const Recipe& recipe);

}  // namespace plimsoll
