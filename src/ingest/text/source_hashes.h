#pragma once

#include <filesystem>
#include <vector>

#include "memory/heap_bytes.h"

namespace plimsoll {

/// Returns [{"source", "bytes", "hash"}] of files, for the provenance of data made from them; reads the whole
/// files. Errors: InputError (a file that does not exist), BudgetExceeded.
JsonTable source_hashes(const std::vector<std::filesystem::path>& files);

}  // namespace plimsoll
