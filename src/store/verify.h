#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/data_set.h"

namespace plimsoll {

/// Maximum number of findings in a list.
inline constexpr size_t kMaxFindings = 20;

/// Checks the whole data set: every checksum, offset, index and flag. Returns one sentence per fault; empty
/// if the data set is sound. Errors: InputError if it cannot be opened.
std::vector<std::string> verify_data_set(const std::filesystem::path& folder);

}  // namespace plimsoll
