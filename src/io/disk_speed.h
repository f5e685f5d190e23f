#pragma once

#include <filesystem>

#include "io/row_reader.h"

namespace plimsoll {

/// What a disk gives and takes past the page cache; 0: it could not be measured, as where the file system is
/// memory.
struct DiskSpeed {
  double read = 0;   ///< bytes a second, in long pieces
  double write = 0;  ///< likewise
  double rows = 0;   ///< scattered rows a second
};

/// Reads a file of rows from its start and here and there, and writes a scratch file beside it, each for up
/// to half a second. Errors: those of RowReader, Failure (reading or writing).
DiskSpeed measure_disk(const std::filesystem::path& file, const RowLayout& rows);

}  // namespace plimsoll
