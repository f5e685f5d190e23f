#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/data_set.h"

namespace plimsoll {

/// Maximum number of findings of the checks that report one for each row.
inline constexpr size_t kMaxFindings = 20;

/// Checks the whole data set: every checksum and, for a kind that this program knows, every offset, index and
/// flag. Returns one sentence per finding; empty if the data set is sound. A check may stop at its first
/// finding. Errors: InputError if the data set cannot be opened, Failure, BudgetExceeded.
std::vector<std::string> verify_data_set(const std::filesystem::path& folder);

}  // namespace plimsoll
