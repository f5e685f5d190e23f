#pragma once

#include <filesystem>
#include <vector>

#include "memory/heap_bytes.h"

namespace plimsoll {

/// [{"source", "bytes", "hash"}] of files, for the provenance of what is made of them; reads them whole.
/// Errors: InputError (a file that is not there), BudgetExceeded.
JsonTable source_hashes(const std::vector<std::filesystem::path>& files);

}  // namespace plimsoll
