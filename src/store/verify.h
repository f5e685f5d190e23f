#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/data_set.h"

namespace plimsoll {

/// Maximum number of findings in a list.
inline constexpr size_t kMaxFindings = 20;

/// Reads the whole data set: every checksum, offset, index and flag. Returns the faults as one sentence each;
/// empty if the data set is sound. Errors: InputError if it cannot be opened.
std::vector<std::string> verify_data_set(const std::filesystem::path& folder);

}  // namespace plimsoll
