#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "io/npy.h"

namespace plimsoll {

/// Returns the number of leading bytes of a column's file that an earlier copy left at `target`; 0 if it left
/// none, or more than the file has.
int64_t bytes_copied(const NpyView& column, const std::filesystem::path& target);

/// Copies the file of a column from byte `from` on, and syncs the copy if `sync` is set. The bytes before
/// `from` are read from `target`. Returns XXH3-64 of the data in the copy. `advanced` is called with the
/// bytes of each chunk, including chunks that already existed; it may throw. Errors: Failure.
std::string copy_column(const NpyView& column, const std::filesystem::path& target, int64_t from, bool sync,
                        const std::function<void(int64_t)>& advanced, FileSystem& files = FileSystem::disk());

}  // namespace plimsoll
