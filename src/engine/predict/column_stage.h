#pragma once

#include <span>
#include <string>

#include "engine/data/column_file.h"
#include "engine/fit/fit.h"

namespace plimsoll {

/// Inputs for a model's predictions for a list of graphs, which are written as a column.
struct ColumnOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< One entry per graph of the source.
  const Objective* objective = nullptr;     ///< The objective that predicts.
  const Recipe* recipe = nullptr;
  std::span<const int64_t> graphs = {};  ///< Graphs in the order of the data set.
  std::string name;                      ///< Name of the column.
  std::string data;                      ///< Identity of the data set.
  RunOptions run = {};                   ///< How the stage runs. Its folder gets the journal.
};

struct ColumnResult {
  NpyView column;
  bool computed = false;  ///< False if the column already existed.
  MemoryPlan plan;        ///< Empty if the column already existed.
};

/// Plans the memory of write_column(). Errors: those of make_plan() and, with a device, BudgetTooSmall.
MemoryPlan plan_column(const ColumnOptions& options);

/// Opens the column NAME of `folder` if it exists and was computed from the same inputs. All ranks must call
/// it. Errors: those of ColumnFile::open() and of look_on_ranks().
std::optional<NpyView> open_column(const ColumnOptions& options, const std::filesystem::path& folder);

/// Opens the column NAME of `folder` if it was computed from the same inputs; otherwise computes it block by
/// block and writes it, [items, outputs()] in the order of the graphs. Ranks compute it together, and rank 0
/// writes it. Errors: BudgetTooSmall; Interrupted, with nothing written; InputError for a stale column, with
/// the reason; those of ColumnFile, predict_on_ranks() and look_on_ranks().
ColumnResult write_column(const ColumnOptions& options, const std::filesystem::path& folder);

}  // namespace plimsoll
