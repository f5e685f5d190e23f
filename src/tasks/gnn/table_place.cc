#include "tasks/gnn/table_place.h"

#include <algorithm>

#include "base/error.h"
#include "engine/fit/optimizer.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

VersionedSizes sizes_of(const GnnStageOptions& options) {
  const TrainingSection& training = options.recipe->training;
  return {.rows = options.source->widths().node_numbers,
          .width = options.recipe->gnn.embedding,
          .moments = state_tensors({.kind = training.optimizer, .momentum = training.momentum})};
}

// Returns an upper bound of the number of different rows that a step looks up, in any epoch.
int64_t max_rows_of_step(const GnnStageOptions& options, int64_t rows) {
  int64_t largest = 1;
  for (const GraphShape& shape : options.shapes.stored()) largest = std::max(largest, int64_t{shape.nodes});
  return std::min(options.recipe->training.batch_size * largest, rows);
}

// Returns the bytes of a row in memory: weights, moments and sums of gradients.
int64_t bytes_of_row(const VersionedSizes& sizes) {
  return (2 + sizes.moments) * sizes.width * int64_t{sizeof(float)};
}

int64_t cap_of(const GnnStageOptions& options) {
  return options.run.memory.cap.value_or(Ledger::process().cap());
}

// Returns whether the table and its moments alone, without the copy of the best epoch, exceed the ledger.
bool is_hopeless_in_memory(const GnnStageOptions& options, const VersionedSizes& sizes) {
  return sizes.rows * bytes_of_row(sizes) > cap_of(options) - Ledger::process().held();
}

// Returns nullopt if the memory of the process does not suffice to plan the stage.
std::optional<MemoryPlan> try_plan(const PlanWithTable& plan,
                                   const std::optional<StoredTable::Options>& stored) {
  try {
    return plan(stored);
  } catch (const BudgetExceeded&) {
    return {};
  }
}

std::optional<int64_t> budget_of(const std::optional<MemoryPlan>& plan) {
  return plan ? std::optional(plan->min_budget) : std::nullopt;
}

// Returns a place with as many rows in memory as fit into half of the ledger.
PlacedTable with_cache(const GnnStageOptions& options, const PlanWithTable& plan, PlacedTable least) {
  StoredTable::Options stored = *least.stored;
  const int64_t half =
      (cap_of(options) - Ledger::process().held()) / 2 - StoredTable::kBytesPerRow * stored.sizes.rows;
  stored.slots = std::clamp(half / (bytes_of_row(stored.sizes) + StoredTable::kBytesPerSlot), stored.slots,
                            stored.sizes.rows);
  if (!least.plan.feasible || stored.slots == least.stored->slots) return least;
  std::optional<MemoryPlan> more = try_plan(plan, stored);
  return more && more->feasible ? PlacedTable{stored, std::move(*more)} : least;
}

}  // namespace

bool may_store_table(const GnnStageOptions& options) {
  const EmbeddingPlace place = options.recipe->run.embeddings;
  const bool learns = options.source->widths().node_numbers > 0;
  const RunOptions& run = options.run;
  const bool alone = run.ranks == 1 && run.device == nullptr && !run.device_budget;
  if (place == EmbeddingPlace::disk && learns && !alone)
    throw UsageError(
        "run.embeddings: a table on a disk needs one process without a GPU; leave out --ranks and --device, "
        "or "
        "set run.embeddings to memory");
  const bool started = learns && run.resume && StoredTable::is_in(run.folder);
  if (started && (place == EmbeddingPlace::memory || !alone))
    throw UsageError(
        "run.embeddings: this run has its table on a disk and continues there, in one process without a GPU; "
        "leave out run.embeddings, --ranks and --device, or start again with --force");
  return learns && alone && place != EmbeddingPlace::memory;
}

PlacedTable place_table(const GnnStageOptions& options, const PlanWithTable& plan) {
  const VersionedSizes sizes = sizes_of(options);
  const bool on_disk = options.recipe->run.embeddings == EmbeddingPlace::disk ||
                       (options.run.resume && StoredTable::is_in(options.run.folder));
  std::optional<MemoryPlan> in_memory;
  if (!on_disk && !is_hopeless_in_memory(options, sizes)) in_memory = try_plan(plan, {});
  const StoredTable::Options stored{.sizes = sizes,
                                    .slots = max_rows_of_step(options, sizes.rows),
                                    .seed = static_cast<uint64_t>(options.recipe->seed),
                                    .folder = options.run.folder};
  const bool fits = in_memory && in_memory->feasible;
  std::optional<MemoryPlan> least = fits ? try_plan(plan, stored) : plan(stored);
  const MemoryPlan::TableBudgets budgets{budget_of(in_memory), budget_of(least)};
  PlacedTable placed =
      fits ? PlacedTable{{}, std::move(*in_memory)} : with_cache(options, plan, {stored, std::move(*least)});
  placed.plan.set_table_budgets(budgets);
  return placed;
}

}  // namespace plimsoll
