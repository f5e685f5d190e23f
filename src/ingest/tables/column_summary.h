#pragma once

#include <filesystem>

#include "base/json.h"

namespace plimsoll {

/// Sets `min`, `max` and `distinct` of a column's entry in the manifest from its files in `folder`, if it has
/// them and is no category.
void summarize_again(Json& column, const std::filesystem::path& folder);

}  // namespace plimsoll
