#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/arrow_stream.h"

namespace plimsoll {

/// Returns the files of one table: a file itself; the files that match a pattern such as "orders/*.parquet";
/// or all Parquet and Arrow files directly in a folder. They are sorted by name. Errors: InputError if there
/// are none.
std::vector<std::filesystem::path> find_table_files(const std::string& pattern);

/// Returns the rows of files that have the same columns as one stream, which opens one file at a time. The
/// caller releases it. Its functions throw the errors of open_arrow_file(), and InputError for a file with
/// other columns.
ArrowArrayStream stream_files(std::vector<std::filesystem::path> files);

}  // namespace plimsoll
