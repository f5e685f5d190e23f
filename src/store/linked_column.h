#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/json.h"
#include "io/npy.h"

namespace plimsoll {

/// A user's array file that is used as a column of a data set without being copied.
struct LinkedColumn {
  NpyShape shape;
  std::string checksum;  ///< XXH3-64 of its bytes.
  Json narrow;           ///< Its entry in "narrow" of the manifest; null for f32.
  std::string how;       ///< "hard" or "symbolic".
};

/// Reads features [rows, F] of f32, f16, u8 or i8 once, and links their file as `link`: by a hard link or,
/// across file systems, by a symbolic link. `tick` is called now and then, and may throw to stop. Errors:
/// InputError (no such file, another type or order, a number that is not finite), Failure (disk),
/// BudgetExceeded.
LinkedColumn link_column(const std::filesystem::path& array, const std::filesystem::path& link,
                         const std::function<void()>& tick);

}  // namespace plimsoll
