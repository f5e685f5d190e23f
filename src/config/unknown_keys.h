#pragma once

#include <string>
#include <string_view>

#include "config/recipe_key.h"

namespace plimsoll {

/// Collects keys that a recipe does not have and reports all of them at once, because a file of another
/// system has many.
class UnknownKeys {
 public:
  /// `keys` are those of a recipe with its defaults; they must outlive the object.
  explicit UnknownKeys(const RecipeKeys& keys) : keys_(keys) {}

  /// Adds a key with its value, if that is a single one, and where it was found. Errors: UsageError after 64
  /// keys.
  void add(const std::string& key, std::string_view value, const std::string& where);
  /// Throws UsageError if a key was added.
  void refuse() const;

 private:
  const RecipeKeys& keys_;
  std::string text_;
  int count_ = 0;
};

}  // namespace plimsoll
