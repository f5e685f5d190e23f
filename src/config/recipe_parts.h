#pragma once

#include <any>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/key_values.h"
#include "config/recipe_key.h"

namespace plimsoll {

/// Sections that a module which `config` does not know adds to every recipe. A program registers them at its
/// start (cli/main.cc, cli/known_tasks.cc), before it reads a recipe.
struct RecipePart {
  std::any defaults;
  /// Puts the keys of the sections into their places.
  std::function<void(std::any& values, RecipeKeys& keys)> add_keys;
  /// Sets values that depend on others, and checks them, after a recipe was read. Errors: UsageError.
  std::function<void(std::any& values, const WrittenValues& written)> settle;
  /// The keys that are always part of a run's identity (config/identity.h).
  std::span<const std::string_view> frozen_keys;
};

/// Adds a part to the recipes that are made from now on. Nothing is done if a part of its type is
/// registered. Not thread-safe.
void register_recipe_part(RecipePart part);
const std::vector<RecipePart>& recipe_parts();

/// The registered parts of one recipe, with their values.
class RecipeParts {
 public:
  /// Makes all registered parts, with their defaults.
  RecipeParts();

  /// Errors: Failure if no such part is registered.
  template <typename Part>
  const Part& get() const {
    for (const std::any& part : parts_)
      if (const Part* const found = std::any_cast<Part>(&part)) return *found;
    throw Failure("a part of recipes is used that this program does not register");
  }
  template <typename Part>
  Part& get() {
    return const_cast<Part&>(std::as_const(*this).get<Part>());
  }

  void add_keys(RecipeKeys& keys);
  void settle(const WrittenValues& written);

 private:
  std::vector<std::any> parts_;  // In the order of recipe_parts().
};

}  // namespace plimsoll
