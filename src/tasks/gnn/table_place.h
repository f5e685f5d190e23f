#pragma once

#include <functional>
#include <optional>

#include "engine/fit/stored_table.h"
#include "tasks/gnn/gnn_stage.h"

namespace plimsoll {

/// The place where a stage keeps its table of embeddings, and the plan of the stage with the table there.
struct PlacedTable {
  std::optional<StoredTable::Options> stored;  ///< The table on a disk; nullopt: in memory, or no table.
  MemoryPlan plan;
};

/// Plans a stage with its table in a place; nullopt: in memory. Errors: BudgetExceeded.
using PlanWithTable = std::function<MemoryPlan(const std::optional<StoredTable::Options>& stored)>;

/// Returns whether a stage learns embeddings of nodes and may keep them on a disk. Errors: UsageError for a
/// `run.embeddings` that is not possible.
bool may_store_table(const GnnStageOptions& options);

/// Decides where the table of a stage is for which may_store_table() is true: in memory if it fits the
/// budget, unless the recipe requires a disk or the stage has started on one. On a disk, as many rows are in
/// memory as fit into half of the ledger, and at least those of any step. The plan states the smallest budget
/// in each possible place; on a disk, it is that with the fewest rows in memory. Calls `plan` several times.
/// Errors: those of `plan`.
PlacedTable place_table(const GnnStageOptions& options, const PlanWithTable& plan);

}  // namespace plimsoll
