#include "config/recipe_key.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace plimsoll {

std::vector<std::string> RecipeKeys::names() const {
  std::vector<std::string> names;
  for (const RecipeKey& key : keys_) names.push_back(key.name);
  return names;
}

const RecipeKey* RecipeKeys::find(std::string_view name) const {
  const auto found = std::ranges::find(keys_, name, &RecipeKey::name);
  return found == keys_.end() ? nullptr : &*found;
}

bool RecipeKeys::has_section(std::string_view name) const {
  return std::ranges::any_of(keys_, [&](const RecipeKey& key) {
    return key.name.starts_with(name) && key.name.substr(name.size()).starts_with('.');
  });
}

void RecipeKeys::insert_before(std::string_view next, RecipeKeys added) {
  const auto found = std::ranges::find(keys_, next, &RecipeKey::name);
  if (found == keys_.end()) throw Failure("a section comes before the unknown key " + std::string(next));
  keys_.insert(found, std::make_move_iterator(added.keys_.begin()),
               std::make_move_iterator(added.keys_.end()));
}

}  // namespace plimsoll
