#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

/// A recipe of recipes/, which CMake makes part of the program.
struct KnownRecipe {
  std::string_view name;  ///< "gat", of gat.yaml
  std::string_view text;

  /// Its first line, a sentence that says what it trains.
  std::string_view summary() const {
    const std::string_view line = text.substr(0, text.find('\n'));
    return line.substr(line.find_first_not_of("# "));
  }
};

/// All of them, in the order of their names.
std::span<const KnownRecipe> known_recipes();

/// Whether a recipe that is asked for is one of known_recipes(): a file of that name comes first.
bool is_known_recipe(const std::filesystem::path& recipe);

/// The text of a recipe: of a file, or if there is none of that name, of known_recipes(). Errors: InputError,
/// which names the nearest of these.
std::string read_recipe(const std::filesystem::path& recipe);

}  // namespace plimsoll
