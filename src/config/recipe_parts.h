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

/// Sections that another module adds to every recipe; `config` does not know the module. Programs register
/// them when they start (cli/main.cc, cli/known_tasks.cc), before they construct a Recipe.
struct RecipePart {
  std::any defaults;
  /// Inserts the keys of the sections into `keys`.
  std::function<void(std::any& values, RecipeKeys& keys)> add_keys;
  /// Called after a recipe was read. Sets and checks values that depend on other values. Errors: UsageError.
  std::function<void(std::any& values, const WrittenValues& written)> settle;
  /// The keys that are always part of a run's identity (config/identity.h).
  std::span<const std::string_view> frozen_keys;
};

/// Adds a part to all recipes that are made from now on. Does nothing if a part of the same type is already
/// registered. Not thread-safe.
void register_recipe_part(RecipePart part);
const std::vector<RecipePart>& recipe_parts();

/// The registered parts of one recipe, with their values.
class RecipeParts {
 public:
  /// Creates all registered parts, with their defaults.
  RecipeParts();

  /// Returns the part of this type. Errors: Failure if it is not registered.
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

  /// Calls add_keys and settle of all parts, in the order in which they were registered.
  void add_keys(RecipeKeys& keys);
  void settle(const WrittenValues& written);

 private:
  std::vector<std::any> parts_;  // In the order of recipe_parts().
};

}  // namespace plimsoll
