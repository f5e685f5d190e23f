#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

/// A recipe from the folder recipes/. CMake compiles these recipes into the program.
struct KnownRecipe {
  std::string_view name;  ///< The file's name without its extension: "gat" for gat.yaml.
  std::string_view text;

  /// Returns the first line of the recipe, a sentence that says what it trains.
  std::string_view summary() const {
    const std::string_view line = text.substr(0, text.find('\n'));
    return line.substr(line.find_first_not_of("# "));
  }
};

/// Returns all known recipes, in the order of their names.
std::span<const KnownRecipe> known_recipes();

/// Returns whether `recipe` names one of known_recipes(); false if a file of that name exists.
bool is_known_recipe(const std::filesystem::path& recipe);

/// Returns the text of the file `recipe` or, if there is no such file, of the known recipe with that name.
/// Errors: InputError, which names the nearest known recipe, if there is neither or the file cannot be read.
std::string read_recipe(const std::filesystem::path& recipe);

}  // namespace plimsoll
