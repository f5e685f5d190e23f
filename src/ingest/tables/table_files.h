#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/location.h"
#include "io/object_store.h"

namespace plimsoll {

/// The files of one table, sorted by name: on disk, or objects of one store. Folders below `root` may be
/// partitions, such as `year=2024`.
struct TableFiles {
  std::string store = {};  ///< As in Location.
  std::filesystem::path root = {};
  std::vector<std::filesystem::path> files = {};
  std::vector<ObjectVersion> versions =
      {};  ///< [files] Versions of objects when they were found; empty on disk.

  Location location(size_t file) const { return {store, files[file]}; }
  Location root_location() const { return {store, root}; }
};

/// Returns the files of one table. `pattern` is a file, a pattern such as "orders/*.parquet", or a folder,
/// meaning all Parquet, Arrow and CSV files in it and in its partitions; or the URL of one of these in an
/// object store. Errors: InputError if there are none, UsageError (another kind of URL), and those of
/// find_object().
TableFiles find_table_files(const std::string& pattern);

/// Returns the files of a table of one file; nothing if there is no such file. Errors: those of
/// find_object().
std::optional<TableFiles> find_table_file(const Location& file);

/// Returns whether the name of a file is that of a CSV file: .csv or .csv.gz.
bool is_csv(const std::filesystem::path& path);

}  // namespace plimsoll
