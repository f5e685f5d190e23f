#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ingest/tables/arrow_table.h"
#include "ingest/tables/column_sink.h"
#include "ingest/tables/table_spec.h"
#include "ingest/tables/task_spec.h"

namespace plimsoll {

/// Makes the seeds of an `autocomplete` task from the rows of its table, as RelBench does: a row with a time
/// and a target is a seed at its own time. Seeds up to `val_timestamp` are in the split train, later ones up
/// to `test_timestamp` in val, and the others in test. Not thread-safe. Errors: InputError, UsageError,
/// Failure (disk), BudgetExceeded.
class AutocompletePass {
 public:
  /// `task.cuts` must be set, with `val` not after `test`. `table` is the task's table, whose stream is
  /// opened again. The arguments must outlive this object.
  AutocompletePass(const TaskSpec& task, const TableSpec& table, DataSetWriter& set);

  /// Reads all rows, once. `progress` is called with the number of rows read. Returns the entries of the
  /// splits for the manifest.
  Json run(const std::function<void(int64_t)>& progress);

 private:
  struct Split {
    const char* name;
    int64_t after, until;  // Times of the seeds: after < time <= until.
    NpyWriter* nodes = nullptr;
    NpyWriter* times = nullptr;
    std::unique_ptr<ColumnSink> targets = {};
    int64_t seeds = 0;
    int64_t without_target = 0;
  };

  std::string column(const Split& split, const char* role) const;
  size_t index_of(const std::string& column, const char* key) const;
  void open(Split& split);
  void add_rows(int64_t first, int64_t rows);
  void add_seeds(Split& split);
  Json finish(Split& split);

  const TaskSpec& task_;
  const TableSpec& spec_;
  DataSetWriter& set_;
  ArrowTable table_;
  size_t time_, target_;  // Indices of columns.
  std::string time_unit_;
  std::array<Split, 3> splits_;
  Values times_, targets_, of_split_;
  Vector<uint32_t, Tag::ingest> node_;  // The nodes of the current rows.
  Vector<uint8_t, Tag::ingest> kept_;
  Vector<uint32_t, Tag::ingest> seed_nodes_;
  Vector<int64_t, Tag::ingest> seed_times_;
  int64_t read_ = 0, nodes_ = 0;
};

}  // namespace plimsoll
