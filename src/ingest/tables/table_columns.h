#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "ingest/tables/arrow_table.h"
#include "ingest/tables/column_sink.h"
#include "ingest/tables/table_spec.h"

namespace plimsoll {

/// Writes the times of a table, and its columns that are not keys, while its rows are read. Not thread-safe.
/// Errors of all members: InputError, UsageError, Failure (disk), BudgetExceeded.
class TableColumns {
 public:
  /// `owner` has the first parts of the names of the table's files, such as {"users"}. The other arguments
  /// must outlive this object.
  TableColumns(const TableSpec& spec, const ArrowTable& table, DataSetWriter& set,
               std::vector<std::string> owner);

  /// Opens all columns except the time and those in `keys`.
  void open_columns(const std::set<std::string>& keys);
  /// Writes the times of some rows of the batch. Returns 1 for each row with a time and 0 for the others,
  /// valid until the next call; empty if all have one.
  std::span<const uint8_t> add_times(int64_t first, int64_t rows);
  /// Writes the other columns of the same rows, except rows for which `kept` is 0.
  void add_values(int64_t first, int64_t rows, std::span<const uint8_t> kept);
  /// Completes the files, and adds their description in the manifest to `entry`.
  void finish(Json& entry);

  /// Returns the name of the column of times; empty if there is none.
  const std::string& time_column() const { return time_column_; }
  /// Whether no time is before the time of an earlier row.
  bool times_rise() const { return times_rise_; }

 private:
  struct Sink {
    size_t column;
    std::unique_ptr<ColumnSink> sink;
  };

  const TableSpec& spec_;
  const ArrowTable& table_;
  DataSetWriter& set_;
  std::vector<std::string> owner_;
  std::vector<Sink> sinks_;
  int64_t time_ = -1;  // Index of the column, or -1.
  std::string time_unit_, time_column_;
  NpyWriter* time_writer_ = nullptr;
  int64_t last_time_;
  bool times_rise_ = true;
  Values times_, values_;
  Vector<uint8_t, Tag::ingest> kept_;
  int64_t read_ = 0, without_time_ = 0;
};

}  // namespace plimsoll
