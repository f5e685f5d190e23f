#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "memory/heap_bytes.h"

namespace plimsoll {

/// Returns [{"source", "bytes", "hash"}] of files, for the provenance of data that is made from them: the
/// name without folders, the size, and XXH3-64 of the content. Reads all files completely. `tick` is called
/// for each chunk that was read, and may throw to stop. Errors: InputError (a file that does not exist),
/// Failure, BudgetExceeded.
JsonTable source_hashes(
    const std::vector<std::filesystem::path>& files, const std::function<void()>& tick = [] {});

}  // namespace plimsoll
