#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ingest/tables/arrow_table.h"
#include "ingest/tables/column_sink.h"
#include "ingest/tables/edge_type.h"
#include "ingest/tables/key_lookup.h"
#include "ingest/tables/target_nodes.h"
#include "ingest/tables/task_spec.h"

namespace plimsoll {

/// Converts the labels of one split of a task into seeds: nodes, times and targets, in the order of the rows.
/// Like RelBench's loader, it leaves out a row if its entity has no node, its time is missing, or its list of
/// target nodes is empty. Not thread-safe. Errors: InputError, UsageError, Failure (disk), BudgetExceeded.
class SeedPass {
 public:
  /// `destination` is null if the task has none. Both states must have a sealed index. The arguments must
  /// outlive this object.
  SeedPass(const TaskSpec& task, const TaskSplit& split, const NodeTypeState& entity,
           const NodeTypeState* destination, DataSetWriter& set, const TableScratch& scratch);

  /// Reads all rows, twice if keys need a sort. `progress` is called with the number of rows read. Returns
  /// the entry of the split for the manifest.
  Json run(const std::function<void(int64_t)>& progress);

 private:
  bool is_direct() const;
  void find_nodes(const std::function<void(int64_t)>& progress);
  void find_nodes_of(const ArrowTable& table, int64_t first, int64_t rows);
  void open_keys(const ArrowTable& table);
  void open_columns(const ArrowTable& table);
  void write_rows(const ArrowTable& table, int64_t first, int64_t rows);
  void read_times(const ArrowTable& table, int64_t first, int64_t rows);
  Json finish();
  std::string column(const char* role) const;

  const TaskSpec& task_;
  const TaskSplit& split_;
  const NodeTypeState& entity_;
  const NodeTypeState* destination_;
  DataSetWriter& set_;
  std::string name_;  // For messages and scratch files.
  KeyLookup nodes_;
  std::optional<KeyColumns> keys_;
  std::optional<TargetNodes> target_nodes_;
  std::unique_ptr<ColumnSink> sink_;  // Writes targets that are not nodes.
  int64_t time_ = -1, target_ = -1;   // Indices of columns, or -1.
  std::string time_unit_;
  NpyWriter* node_writer_ = nullptr;
  NpyWriter* time_writer_ = nullptr;
  Values times_, targets_;
  Vector<uint8_t, Tag::ingest> kept_;
  Vector<uint32_t, Tag::ingest> found_;
  int64_t read_ = 0, seeds_ = 0, dangling_ = 0, without_time_ = 0, without_target_ = 0;
};

}  // namespace plimsoll
