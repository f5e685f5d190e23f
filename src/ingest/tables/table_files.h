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

/// Returns the files of one table. `pattern` is a file, a pattern such as "orders/*.parquet", or a folder,
/// which stands for all Parquet, Arrow and CSV files in it and in its partitions. Errors: InputError if there
/// are none.
TableFiles find_table_files(const std::string& pattern);

/// Returns whether the name of a file is that of a CSV file: .csv or .csv.gz.
bool is_csv(const std::filesystem::path& path);

}  // namespace plimsoll
