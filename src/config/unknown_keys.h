#pragma once

#include <string>
#include <string_view>

#include "config/recipe_key.h"

namespace plimsoll {

/// Collects unknown keys of a recipe and reports all of them at once, because a file of another system has
/// many.
class UnknownKeys {
 public:
  /// `keys` are the keys of a recipe with default values; they must outlive this object.
  explicit UnknownKeys(const RecipeKeys& keys) : keys_(keys) {}

  /// Adds a key, its value if that is not a list, and the place where it was found. Errors: UsageError after
  /// 64 keys.
  void add(const std::string& key, std::string_view value, const std::string& where);
  /// Throws UsageError if a key was added.
  void refuse() const;

 private:
  const RecipeKeys& keys_;
  std::string text_;
  int count_ = 0;
};

}  // namespace plimsoll
