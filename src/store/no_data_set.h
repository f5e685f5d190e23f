#pragma once

#include <filesystem>

#include "base/error.h"

namespace plimsoll {

/// Returns the error for a path without a manifest. Its text says whether the path does not exist, is a file,
/// or is another kind of folder.
InputError no_data_set(const std::filesystem::path& folder);

}  // namespace plimsoll
