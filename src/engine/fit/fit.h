#pragma once

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include "config/recipe.h"
#include "engine/blocks/block_engine.h"
#include "engine/blocks/exchange.h"
#include "engine/blocks/training_device.h"
#include "engine/data/curriculum.h"
#include "engine/data/split.h"
#include "engine/fit/checkpoint.h"
#include "engine/fit/fit_observer.h"
#include "engine/fit/initial_weights.h"
#include "engine/fit/reading.h"
#include "engine/fit/teacher_outputs.h"
#include "engine/plan/device_run.h"
#include "engine/plan/memory_plan.h"
#include "engine/plan/plan_input.h"
#include "memory/memory_share.h"
#include "memory/pressure.h"
#include "nn/objective.h"
#include "sample/block/block.h"

namespace plimsoll {

/// How a stage is run, whatever it trains. These options affect its speed and where it stops, never its
/// result.
struct RunOptions {
  /// Folder of the stage, for checkpoints/, metrics.csv and events.jsonl; must exist.
  std::filesystem::path folder = {};
  std::string identity = {};  ///< Identifies recipe and data; a checkpoint with another identity is refused.
  /// The roundings of the run so far as JSON (engine/fit/rounding.h), written to checkpoints; empty: unknown.
  std::string roundings = {};
  bool resume = false;  ///< Continue from the last checkpoint, if there is one.
  MemoryShare memory = {};
  int64_t prefetch = 2;  ///< Number of blocks read ahead, as far as the budget allows.
  /// For planning only: the model has no data, nothing that lives as long as the run is allocated, and
  /// nothing is run.
  bool without_data = false;
  std::optional<int64_t> device_budget = {};  ///< Budget of a GPU to plan for; only with without_data.
  int64_t device_margin = 0;                  ///< PlannedDevice::margin of that GPU.
  TrainingDevice* device = nullptr;           ///< Device on which blocks run; null: the CPU.
  int ranks = 1;  ///< Number of processes of the run. All see the same graphs and share their blocks.
  Exchange* exchange = nullptr;  ///< Connects the ranks; null for one process, or for a plan.
  Pressure* pressure = nullptr;  ///< While it reports pressure, the run holds less memory; null: memory is
                                 ///< never reduced.
  /// When this flag becomes true, the run finishes the block, writes a checkpoint and throws Interrupted.
  const std::atomic<bool>* interrupt = nullptr;
  FitObserver* observer = &FitObserver::none();  ///< Follows the stage.

  /// Whether this process writes files and reports progress: only rank 0 does.
  bool writes() const { return rank_of(exchange) == 0; }
};

/// Returns the GPU that a run is planned for without running anything; nullopt: no GPU.
inline std::optional<PlannedDevice> device_without_data(const RunOptions& run,
                                                        int max_streams = PlannedDevice::kMaxStreams) {
  if (!run.device_budget) return {};
  return PlannedDevice{.budget = *run.device_budget,
                       .margin = run.device_margin,
                       .max_streams = std::min(max_streams, run.memory.threads)};
}

/// Returns the limits of blocks in the recipe.
inline BlockLimits limits_of(const TrainingSection& training) {
  return {training.block.graphs, training.block.nodes, training.block.edges};
}

/// Returns the number of lanes of a batch. If `training.lanes` is auto: four for models of up to 4 million
/// parameters, otherwise one.
int64_t lanes_of(const TrainingSection& training, const ParameterList& parameters);

/// The input of fit(). All objects that it points to must outlive the call.
struct FitOptions {
  const BlockSource* source = nullptr;
  GraphShapes shapes;  ///< Shapes of all graphs of the source.
  const Objective* objective = nullptr;
  const Recipe* recipe = nullptr;
  const TrainingSplit* split = nullptr;
  const Curriculum* curriculum = nullptr;  ///< If null, the whole training split is used in every epoch.
  /// Source of the outputs of the objective's teacher.
  TeacherOutputs teacher = {};
  /// The table of embeddings, if it is on a disk; the objective's first parameter has its slots.
  StoredTable* table = nullptr;
  /// The smallest budgets with that table in memory and on a disk. They replace the one of the plan.
  MemoryPlan::TableBudgets table_budgets = {};
  /// Bytes that the stage needs after fit() has returned and freed its memory; 0: few enough to leave out of
  /// the plan.
  int64_t afterwards = 0;
  /// Whether the model uses a parameter more than once in a block.
  bool repeats_parameters = false;
  RunOptions run = {};
};

/// The result of fit(). Counts and sums cover this process only; `epochs` covers the whole run.
struct FitResult {
  std::vector<EpochMetrics> epochs;
  int64_t best_epoch = 0;
  double best_loss = 0;
  std::string weights = {};  ///< ParameterList::hash() of the weights.
  MemoryPlan plan;
  int64_t steps = 0;       ///< Number of steps done in this process.
  int64_t resumed_at = 0;  ///< Number of steps completed at the loaded checkpoint; 0: started from scratch.
  std::vector<std::string> damaged;  ///< Checkpoints that were skipped, and why.
  int64_t reruns = 0;                ///< Number of blocks that ran again alone for lack of memory.
  int64_t sheds = 0;       ///< Number of times that memory was given back because the system was short of it.
  int64_t overflows = 0;   ///< Number of tensors that did not fit into their block's range.
  int64_t unforeseen = 0;  ///< Number of blocks whose tensors differed from the plan.
  std::optional<InitialWeights> initial = {};  ///< Result of init_from(), if the run started from scratch.
  /// Sum over all epochs in this process; nullopt if the source has no cache.
  std::optional<Reading> reading = {};
  std::optional<DeviceUse> device = {};
};

/// The maximum number of ranks of a run: one per lane, and one per block of a step.
struct MaxRanks {
  int64_t lanes = 0;
  int64_t blocks = 0;  ///< Number of blocks of the first batch.
};
/// Throws UsageError, which names the limit and its key, if there are more ranks than `max` allows.
void require_ranks(int ranks, const MaxRanks& max);

/// Plans the memory of fit(): allocates everything that fit() holds and runs probes, but makes no step and
/// writes no file. With RunOptions::without_data, it allocates and runs nothing. Errors: BudgetExceeded if
/// not even probes fit; UsageError for options that do not work together; those of make_plan().
MemoryPlan plan_fit(const FitOptions& options);

/// Trains an objective on shuffled batches until max_epochs, or until the validation loss has not improved
/// for `patience` epochs. Afterwards the parameters are those of the best epoch. A checkpoint is written at
/// the end of each epoch and every training.checkpoint_every_s seconds. The result has the same bits for any
/// budget, prefetch and number of threads and ranks, and however often the run is stopped and resumed.
/// Errors: before the first step, those of plan_fit(), BudgetTooSmall, and those of init_from() and
/// Checkpoints::load(). Later BudgetExceeded, BudgetTooSmall for a device, and Interrupted, each with a
/// checkpoint to resume from; Failure or InputError for a loss that is not finite, and Failure for a full
/// disk, with the existing checkpoints kept; with ranks, RankLost.
FitResult fit(const FitOptions& options);

}  // namespace plimsoll
