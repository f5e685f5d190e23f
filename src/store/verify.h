#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/data_set.h"

namespace plimsoll {

/// Where a list of findings ends, however many there are.
inline constexpr size_t kMaxFindings = 20;

/// Reads a data set through and through: every checksum, every offset, every index, every flag.
/// Returns what is wrong, one sentence each; nothing if the data set is whole.
/// Errors: InputError when it cannot even be opened.
std::vector<std::string> verify_data_set(const std::filesystem::path& folder);

}  // namespace plimsoll
