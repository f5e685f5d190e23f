#pragma once

#include <filesystem>

#include "base/json.h"

namespace plimsoll {

/// Recomputes `min`, `max` and `distinct` of a column's entry in the manifest from its files in
/// `folder`, which must be finished. Does nothing for a category. Errors: those of NpyView, BudgetExceeded.
void summarize_again(Json& column, const std::filesystem::path& folder);

}  // namespace plimsoll
