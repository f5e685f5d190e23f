#pragma once

#include <filesystem>

#include "base/json.h"

namespace plimsoll {

/// Recomputes `min`, `max` and `distinct` of a column's entry in the manifest from its files in `folder`.
/// Does nothing for a category.
void summarize_again(Json& column, const std::filesystem::path& folder);

}  // namespace plimsoll
