#pragma once

#include <string>

#include "config/key_values.h"
#include "config/recipe_key.h"
#include "config/unknown_keys.h"

namespace plimsoll {

/// Returns the written values of a recipe's YAML text, by key. `name` is for the error texts. Keys that are
/// not among `keys` are added to `unknown`. Errors: UsageError with file, line and column.
WrittenValues written_values(const std::string& text, const std::string& name, const RecipeKeys& keys,
                             UnknownKeys& unknown);

}  // namespace plimsoll
