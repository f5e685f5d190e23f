#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ingest/tables/table_files.h"
#include "io/arrow_stream.h"

namespace plimsoll {

/// Columns whose values are in the names of folders, as in `year=2024/month=1/part.parquet`. They are whole
/// numbers if all values are whole numbers, otherwise texts. `__HIVE_DEFAULT_PARTITION__` is a missing value,
/// and %XX in a name is the byte XX.
class PartitionColumns {
 public:
  /// Errors: InputError if the folders of files name different columns.
  explicit PartitionColumns(const TableFiles& table);

  bool empty() const { return columns_.empty(); }
  /// Returns a hash of the names and values of all files; "" if there are no columns.
  std::string hash() const;
  /// Append the columns to the schema of a table, and to a batch of rows of one of the files. This object
  /// must outlive both.
  void append_to(ArrowSchema& schema) const;
  void append_to(ArrowArray& batch, size_t file) const;

 private:
  struct Column {
    std::string name;
    std::vector<std::optional<std::string>> texts;  // [files]
    bool is_number = true;
  };

  std::vector<Column> columns_;
};

}  // namespace plimsoll
