#include "config/known_recipes.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "base/nearest_word.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

const KnownRecipe* find_known(const fs::path& recipe) {
  const auto known = known_recipes();
  const auto found = std::ranges::find(known, recipe.string(), &KnownRecipe::name);
  return found == known.end() ? nullptr : &*found;
}

// A folder is not a recipe, so it does not hide a known recipe.
bool is_file(const fs::path& path) {
  std::error_code unknown;
  return fs::exists(path, unknown) && !fs::is_directory(path, unknown);
}

}  // namespace

bool is_known_recipe(const fs::path& recipe) {
  return !is_file(recipe) && find_known(recipe) != nullptr;
}

std::string read_recipe(const fs::path& recipe) {
  if (is_known_recipe(recipe)) return std::string(find_known(recipe)->text);
  std::ifstream file(recipe);
  if (!file || fs::is_directory(recipe)) {
    std::vector<std::string> names;
    for (const KnownRecipe& known : known_recipes()) names.emplace_back(known.name);
    const std::string near = nearest_word(recipe.stem().string(), names);
    throw InputError(fmt::format(
        "no such recipe: {}: expected a file, or a name that `plimsoll recipes` lists; did you mean {}?",
        recipe.string(), near));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace plimsoll
