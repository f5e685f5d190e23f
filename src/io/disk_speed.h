#pragma once

#include <filesystem>

#include "io/row_reader.h"

namespace plimsoll {

/// Speed of a disk without the page cache. 0 stands for a value that could not be measured, for example
/// because the file system is in memory.
struct DiskSpeed {
  double read = 0;   ///< Bytes per second in long reads.
  double write = 0;  ///< Bytes per second in long writes.
  double rows = 0;   ///< Rows per second in scattered reads.
};

/// Reads a file of rows sequentially and at random, and writes a scratch file of 512 MiB in the same folder,
/// if half of the free space is enough for it. `rows` must have at least one row. Each of the three
/// measurements lasts up to half a second. Errors: those of RowReader, Failure (reading or writing).
DiskSpeed measure_disk(const std::filesystem::path& file, const RowLayout& rows);

}  // namespace plimsoll
