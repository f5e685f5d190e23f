#pragma once

#include <functional>
#include <optional>

#include "engine/fit/stored_table.h"
#include "tasks/gnn/gnn_stage.h"

namespace plimsoll {

/// Where a stage keeps its table of embeddings, and the plan of the stage with the table there.
struct PlacedTable {
  std::optional<StoredTable::Options> stored;  ///< Nullopt: in memory, or there is no table.
  MemoryPlan plan;
};

/// Plans a stage with its table in a place; nullopt: in memory. Errors: BudgetExceeded.
using PlanWithTable = std::function<MemoryPlan(const std::optional<StoredTable::Options>& stored)>;

/// Returns whether a stage learns embeddings of nodes and may keep them on a disk. Errors: UsageError for a
/// `run.embeddings` that is not possible.
bool may_store_table(const GnnStageOptions& options);

/// Decides where the table of such a stage is: in memory if it fits the budget, unless the recipe says
/// otherwise or the stage has started on a disk. On a disk, as many rows are in memory as fit into half of
/// the ledger, and at least those of any step. The plan states the smallest budget in each possible place; on
/// a disk, it is that with the fewest rows in memory. Errors: those of `plan`, which is called several times.
PlacedTable place_table(const GnnStageOptions& options, const PlanWithTable& plan);

}  // namespace plimsoll
