#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

/// A recipe of the folder recipes/, which CMake compiles into the program.
struct KnownRecipe {
  std::string_view name;  ///< "gat" for gat.yaml.
  std::string_view text;

  /// Returns the first line of the recipe, a sentence that says what it trains.
  std::string_view summary() const {
    const std::string_view line = text.substr(0, text.find('\n'));
    return line.substr(line.find_first_not_of("# "));
  }
};

/// Returns all known recipes, in the order of their names.
std::span<const KnownRecipe> known_recipes();

/// Returns whether a requested recipe is one of known_recipes(). A file of that name takes precedence.
bool is_known_recipe(const std::filesystem::path& recipe);

/// Returns the text of a recipe: that of a file or, if there is no file with that name, that of one of
/// known_recipes(). Errors: InputError that names the nearest known recipe.
std::string read_recipe(const std::filesystem::path& recipe);

}  // namespace plimsoll
