#include "config/recipe_parts.h"

#include <algorithm>

namespace plimsoll {
namespace {

std::vector<RecipePart>& registered_parts() {
  static std::vector<RecipePart> all;
  return all;
}

}  // namespace

void register_recipe_part(RecipePart part) {
  const auto is_same = [&](const RecipePart& known) { return known.defaults.type() == part.defaults.type(); };
  if (std::ranges::none_of(registered_parts(), is_same)) registered_parts().push_back(std::move(part));
}

const std::vector<RecipePart>& recipe_parts() {
  return registered_parts();
}

RecipeParts::RecipeParts() {
  for (const RecipePart& part : recipe_parts()) parts_.push_back(part.defaults);
}

void RecipeParts::add_keys(RecipeKeys& keys) {
  for (size_t i = 0; i < parts_.size(); ++i) recipe_parts()[i].add_keys(parts_[i], keys);
}

void RecipeParts::settle(const WrittenValues& written) {
  for (size_t i = 0; i < parts_.size(); ++i) recipe_parts()[i].settle(parts_[i], written);
}

}  // namespace plimsoll
