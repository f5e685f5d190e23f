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

/// Copies the file of a column from byte `from` on, and syncs the copy if `sync` is set. `target` has the
/// bytes before `from`, which are read from there. Returns XXH3-64 of the data in the copy, which is shorter
/// than the column if the column's file was truncated in the meantime. `advanced` is called with the bytes of
/// each chunk, including chunks that already existed; it may throw. Errors: Failure, BudgetExceeded;
/// InputError if the column's file no longer exists.
std::string copy_column(const NpyView& column, const std::filesystem::path& target, int64_t from, bool sync,
                        const std::function<void(int64_t)>& advanced, FileSystem& files = FileSystem::disk());

}  // namespace plimsoll
