#pragma once

#include <span>
#include <string>

#include "engine/data/column_file.h"
#include "engine/fit/fit.h"

namespace plimsoll {

/// What a model says of a list of graphs, to be written as a column.
struct ColumnOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< one for each graph of the source
  const Objective* objective = nullptr;     ///< that predicts
  const Recipe* recipe = nullptr;
  std::span<const int64_t> graphs = {};  ///< in the order of the data set
  std::string name;                      ///< of the column
  std::string data;                      ///< identity of the data set
  RunOptions run = {};                   ///< its folder gets the journal
};

struct ColumnResult {
  NpyView column;
  bool computed = false;  ///< it was not there yet
  MemoryPlan plan;        ///< empty where it was there
};

/// What write_column() would need of memory.
MemoryPlan plan_column(const ColumnOptions& options);

/// The column NAME of `folder` where it was computed from the same. All ranks ask for it. Errors: as
/// write_column().
std::optional<NpyView> open_column(const ColumnOptions& options, const std::filesystem::path& folder);

/// The column NAME of `folder`: that which is there if it was computed from the same, else computed block by
/// block and written, [items, outputs()] in the order of the graphs. Ranks compute it together, and rank 0
/// writes it. Errors: BudgetTooSmall; Interrupted,
/// with nothing written; InputError for a stale column, with the reason; as ColumnFile.
ColumnResult write_column(const ColumnOptions& options, const std::filesystem::path& folder);

}  // namespace plimsoll
