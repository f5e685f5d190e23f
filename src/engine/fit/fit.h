#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "config/recipe.h"
#include "engine/blocks/block_engine.h"
#include "engine/blocks/exchange.h"
#include "engine/blocks/training_device.h"
#include "engine/data/curriculum.h"
#include "engine/data/split.h"
#include "engine/fit/checkpoint.h"
#include "engine/fit/initial_weights.h"
#include "engine/fit/reading.h"
#include "engine/fit/teacher_outputs.h"
#include "engine/plan/device_run.h"
#include "engine/plan/memory_plan.h"
#include "engine/plan/plan_input.h"
#include "memory/pressure.h"
#include "nn/objective.h"
#include "sample/block/block.h"

namespace plimsoll {

/// How a stage is run, whatever it trains: these change its speed and where it stops, never its result.
struct RunOptions {
  std::filesystem::path folder =
      {};                     ///< of the stage: checkpoints/, metrics.csv and events.jsonl; must exist
  std::string identity = {};  ///< of recipe and data: a checkpoint of another one is refused
  /// The roundings that the run has had, as JSON (engine/fit/rounding.h), for checkpoints; empty: unknown.
  std::string roundings = {};
  bool resume = false;  ///< goes on from the last checkpoint, if there is one
  int threads = 1;
  int64_t prefetch = 2;  ///< blocks read ahead, as far as the budget allows
  /// For planning alone: the model has no data, nothing that lives as long as the run is made, and nothing is
  /// run.
  bool without_data = false;
  std::optional<int64_t> device_budget = {};  ///< of a GPU to plan for; with without_data alone
  TrainingDevice* device = nullptr;           ///< blocks run there; null: on the CPU
  std::optional<int64_t> cap = {};            ///< of the ledger; none: as it is
  int64_t outside_ledger = 0;                 ///< bytes of the budget that the ledger does not have
  int64_t outside_varies = 0;                 ///< as in PlanInput
  int ranks = 1;  ///< processes of the run; all see the same graphs, and share out their blocks
  Exchange* exchange = nullptr;  ///< with the other ranks; null: there are none, or planning for some
  Pressure* pressure = nullptr;  ///< while there is any, less is held; none: never
  const std::atomic<bool>* interrupt = nullptr;  ///< set: finish the block, write a checkpoint, throw
  std::function<void()> begun = [] {};           ///< called when all is made and planned
  std::function<void(int64_t done, int64_t total, const std::string& note)> progress =
      [](int64_t, int64_t, const std::string&) {};

  /// Rank 0 alone writes files and says how far it is.
  bool writes() const { return rank_of(exchange) == 0; }
};

/// The GPU that a run is planned for where nothing is run; none: no GPU.
inline std::optional<PlannedDevice> device_without_data(const RunOptions& run,
                                                        int max_streams = PlannedDevice::kMaxStreams) {
  if (!run.device_budget) return {};
  return PlannedDevice{.budget = *run.device_budget, .max_streams = max_streams};
}

/// The limits of blocks, as the recipe has them.
inline BlockLimits limits_of(const Recipe::Training& training) {
  return {training.block.graphs, training.block.nodes, training.block.edges};
}

/// Lanes of a batch. `training.lanes` auto: four where the sums of lanes are small.
int64_t lanes_of(const Recipe::Training& training, const ParameterList& parameters);

struct FitOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< one for each graph of the source
  const Objective* objective = nullptr;
  const Recipe* recipe = nullptr;
  const TrainingSplit* split = nullptr;
  const Curriculum* curriculum = nullptr;  ///< none: every epoch trains on all of the split
  /// What the objective's teacher needs beside it: the weights of a live one, or blocks in front of the
  /// student's.
  TeacherOutputs teacher = {};
  /// Bytes that the stage takes when fit() is done and has given back what it held; 0: not worth planning.
  int64_t afterwards = 0;
  RunOptions run = {};
};

struct FitResult {
  std::vector<EpochMetrics> epochs;
  int64_t best_epoch = 0;
  double best_loss = 0;
  MemoryPlan plan;
  int64_t steps = 0;                 ///< done in this process
  int64_t resumed_at = 0;            ///< steps that a checkpoint had done; 0: started afresh
  std::vector<std::string> damaged;  ///< checkpoints that were passed over, and why
  int64_t reruns = 0;                ///< blocks that had to run again alone for memory
  int64_t sheds = 0;                 ///< times that memory was given back because the system was short of it
  int64_t overflows = 0;             ///< tensors that found no room in their block's range
  int64_t unforeseen = 0;            ///< blocks whose tensors were not as planned
  std::optional<InitialWeights> initial = {};  ///< of init_from, where the run started afresh
  std::optional<Reading> reading = {};  ///< of all epochs in this process; none: the source has no cache
  std::optional<DeviceUse> device = {};
};

/// The most ranks that a run can have: one for each lane, and one for each block of a step.
struct MaxRanks {
  int64_t lanes = 0;
  int64_t blocks = 0;  ///< of the first batch
};
/// Errors: UsageError, which names the limit and its key, for more.
void require_ranks(int ranks, const MaxRanks& max);

/// What fit() would need and get of memory: all that it holds is made, and probes are run, but no step is
/// taken and no file is written. Errors: BudgetExceeded where not even probes fit.
MemoryPlan plan_fit(const FitOptions& options);

/// Trains an objective: shuffled batches until max_epochs, or until the validation loss has not improved for
/// `patience` epochs; then the parameters are those of the best epoch. A checkpoint is written at every
/// epoch's end and every training.checkpoint_every_s seconds. The result is the same bits for any threads,
/// budget, prefetch, number of ranks, and for any number of stops and resumptions. Errors: BudgetTooSmall
/// before anything is done; BudgetExceeded and Interrupted later, with a checkpoint to resume from; Failure
/// for a loss that is not finite or a disk that is full, with the checkpoints there are; of ranks UsageError
/// for more than can share a step, and RankLost.
FitResult fit(const FitOptions& options);

}  // namespace plimsoll
