#include "run/recipe_change.h"

#include <fmt/format.h>

#include <utility>

namespace plimsoll {

void add_half(std::vector<RecipeChange>& changes, const std::string& key, int64_t now,
              std::function<int64_t&(Recipe&)> value_of) {
  if (now < 2) return;
  changes.push_back({fmt::format("{}={}", key, now / 2),
                     [value_of = std::move(value_of), now](Recipe& r) { value_of(r) = now / 2; }});
}

std::vector<RecipeChange> smaller_gnn(const Recipe& recipe) {
  std::vector<RecipeChange> changes;
  if (recipe.uses_paths()) {
    add_half(changes, "paths.hidden", recipe.paths.hidden,
             [](Recipe& r) -> int64_t& { return r.paths.hidden; });
    add_half(changes, "paths.layers", recipe.paths.layers,
             [](Recipe& r) -> int64_t& { return r.paths.layers; });
    add_half(changes, "paths.tile", recipe.paths.tile, [](Recipe& r) -> int64_t& { return r.paths.tile; });
    return changes;
  }
  add_half(changes, "gnn.heads", recipe.gnn.heads, [](Recipe& r) -> int64_t& { return r.gnn.heads; });
  add_half(changes, "gnn.hidden", recipe.gnn.hidden, [](Recipe& r) -> int64_t& { return r.gnn.hidden; });
  add_half(changes, "gnn.layers", recipe.gnn.layers, [](Recipe& r) -> int64_t& { return r.gnn.layers; });
  return changes;
}

}  // namespace plimsoll
