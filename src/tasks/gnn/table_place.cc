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

std::optional<MemoryPlan> plan_in_memory(const PlanWithTable& plan) {
  try {
    MemoryPlan found = plan({});
    if (found.feasible) return found;
  } catch (const BudgetExceeded&) {  // The table itself is too large.
  }
  return {};
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
  if (!on_disk && !is_hopeless_in_memory(options, sizes))
    if (std::optional<MemoryPlan> in_memory = plan_in_memory(plan)) return {{}, std::move(*in_memory)};
  StoredTable::Options stored{.sizes = sizes,
                              .slots = max_rows_of_step(options, sizes.rows),
                              .seed = static_cast<uint64_t>(options.recipe->seed),
                              .folder = options.run.folder};
  PlacedTable least{stored, plan(stored)};
  const int64_t half = (cap_of(options) - Ledger::process().held()) / 2;
  stored.slots = std::clamp(half / bytes_of_row(sizes), stored.slots, sizes.rows);
  if (!least.plan.feasible || stored.slots == least.stored->slots) return least;
  PlacedTable more{stored, plan(stored)};
  if (!more.plan.feasible) return least;
  more.plan.min_budget = least.plan.min_budget;
  return more;
}

}  // namespace plimsoll
