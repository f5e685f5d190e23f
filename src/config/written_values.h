#pragma once

#include <string>

#include "config/key_values.h"
#include "config/recipe_key.h"
#include "config/unknown_keys.h"

namespace plimsoll {

/// Returns what the YAML text of a recipe says, by key. `name` is for the error texts. Keys that are not
/// among `keys` go to `unknown`. Errors: UsageError with file, line and column.
WrittenValues written_values(const std::string& text, const std::string& name, const RecipeKeys& keys,
                             UnknownKeys& unknown);

}  // namespace plimsoll
