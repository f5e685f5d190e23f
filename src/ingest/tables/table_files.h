#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll {

/// The files of one table, sorted by name. Folders below `root` may be partitions, such as `year=2024`.
struct TableFiles {
  std::filesystem::path root;
  std::vector<std::filesystem::path> files;
};

/// Returns the files of one table: a file itself; the files that match a pattern such as "orders/*.parquet";
/// or all Parquet, Arrow and CSV files of a folder and of its partitions. Errors: InputError if there are
/// none.
TableFiles find_table_files(const std::string& pattern);

/// Whether a file is CSV by its name: .csv or .csv.gz.
bool is_csv(const std::filesystem::path& path);

}  // namespace plimsoll
