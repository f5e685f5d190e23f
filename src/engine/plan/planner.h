#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "engine/blocks/block_engine.h"
#include "engine/data/epoch_order.h"
#include "engine/plan/block_plan.h"
#include "engine/plan/device_plan.h"

namespace plimsoll {

/// What lives as long as a run and does not stand in the ledger yet, by its tag.
struct PendingAllocation {
  int64_t parameters = 0, optimizer = 0, columns = 0, output = 0;
  int64_t sum() const { return parameters + optimizer + columns + output; }
};

/// The graphs that a run works on, and how.
struct PlanInput {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< one for each graph of the source
  const Objective* objective = nullptr;
  /// Weights that stay in memory and do not train, held already or in `missing`: a teacher's; null: none.
  const ParameterList* live_teacher = nullptr;
  OffloadedTeacher* offloaded_teacher = nullptr;  ///< whose room is held already or in `missing`; null: none
  BlockLimits limits = {};
  int64_t lanes = 1;  ///< of a batch that trains (engine/blocks/lane_tree.h)
  int ranks = 1;      ///< that share them; what is planned is any rank's
  int threads = 1;
  int64_t prefetch = 2;

  std::span<const int64_t> training = {};  ///< empty: prediction alone
  uint64_t seed = 0;                       ///< of the shuffling of every epoch
  const Curriculum* curriculum = nullptr;  ///< none: every epoch trains on all
  bool fresh_epochs = false;               ///< EpochOrder::fresh
  int64_t epochs = 0;
  int64_t batch_size = 0;
  std::vector<std::span<const int64_t>> predicted = {};  ///< lists, each in its order

  std::string recompute = "auto";  ///< training.gradient_checkpointing: auto | on | off
  /// How the need is found: static (nothing is run, and the objective's parameters have no data), measured
  /// (probes and the worst block of training), or trial (the worst of each kind, and a whole step).
  std::string estimation = "measured";
  int64_t outside_ledger = 0;  ///< bytes of the budget that the ledger does not have: floor and slack
  int64_t outside_varies = 0;  ///< bytes by which that may be more another time; in min_budget alone
  int64_t later = 0;           ///< bytes that the caller takes once the run is under way, such as scores
  PendingAllocation missing = {};
  int64_t optimizer_tensors = 0;             ///< that the optimizer keeps of each parameter's shape
  std::optional<PlannedDevice> device = {};  ///< for which the run is planned, too
  std::optional<int64_t> cap = {};           ///< of the ledger; none: as it is now

  BlockShapes block_shapes() const { return {shapes, source->prefix_shapes()}; }
  EpochOrder order() const { return {training, curriculum, seed, fresh_epochs}; }
};

/// What a run needs of memory, and what it gets. All bytes.
struct MemoryPlan {
  ExecutionPlan execution;
  std::shared_ptr<const BlockPlan> training;  ///< the same as execution's
  std::shared_ptr<const BlockPlan> prediction;
  bool feasible = false;
  int64_t peak = 0;        ///< of the budget: floor, slack and the most that will stand in the ledger
  int64_t min_budget = 0;  ///< the least with which the run works, one block at a time, as it is planned
  bool exact = true;       ///< else why_inexact says what is estimated from above
  std::string why_inexact;
  /// Of peak, by what it is for; their sum is peak, but for floor and slack.
  std::vector<std::pair<std::string, int64_t>> parts;

  struct Block {
    BlockSize size;
    int64_t peak_bytes = 0;   ///< tensors asked for at once
    int64_t range_bytes = 0;  ///< of the slab
    std::string operation;    ///< at the peak
    bool training = true;
    BlockTerms terms = {};                       ///< what its sizes follow from
    std::shared_ptr<const BlockPlan> plan = {};  ///< of its kind of work; null: there is no block
  };
  Block worst;
  std::string recompute_note;  ///< gradient_checkpointing auto: what running layers again gains
  /// Measured by the block that was run to verify the tape; 0: none was run.
  int64_t verified_peak_bytes = 0;

  struct Graph {
    int64_t graph, nodes, edges, bytes;
  };
  int64_t room_for_graph = 0;    ///< the most that one graph may need of the slab
  std::vector<Graph> too_large;  ///< graphs that do not fit alone, the largest first, 16 at most

  struct Speed {
    int64_t budget;
    int blocks_in_flight;
    bool recompute;
    double graphs_per_s;  ///< expected
  };
  std::vector<Speed> speed;
  /// Of a source with a cache, such as one giant graph: an epoch with parts of its data in memory.
  struct Reading {
    double share;     ///< of features as f32 and edges, that the cache has room for
    int64_t budget;   ///< with the blocks in flight of this plan
    double seconds;   ///< that processors take, waiting for nothing; 0: not known
    double read = 0;  ///< bytes, after samples were made
    double written = 0;
    double pieces = 0;  ///< as in ReadingCost
  };
  std::vector<Reading> reading;
  int ranks = 1;
  int64_t parameter_bytes = 0;  ///< all parameters, as numbers; where there are ranks
  int64_t bytes_sent = 0;       ///< by a rank to others in a step, but for losses and the norm
  int64_t blocks_planned = 0;   ///< whose exact size is known
  bool all_blocks_known = true;
  double seconds = 0;                ///< that planning took
  std::optional<DevicePlan> device;  ///< where PlanInput has a device
  int64_t heap = 0;                  ///< of peak, that is in neither floor nor ledger; kHeapSlack aside
};

/// Plans a run: records the tapes of a few small made-up blocks, solves them (memory/tape_model.h), looks for
/// the worst of all blocks, runs it once, and divides what the ledger has left. What lives as long as the run
/// must stand in the ledger already, gradients and `missing` aside. Errors: BudgetExceeded where not even
/// probes fit; UsageError where a model cannot be planned so (engine/plan/static_tape.h).
MemoryPlan make_plan(const PlanInput& input);

/// Runs `predicted`, a list, and a whole step of the run by a feasible plan: where blocks are not as it says,
/// it is no longer exact, on the host or on the device. `execution`: of the plan, with the device's lanes
/// where it has any. No weight changes. Errors: those of blocks.
void try_out(const PlanInput& input, const ExecutionPlan& execution, std::span<const int64_t> predicted,
             MemoryPlan& plan);

/// By how much a stated budget is above the need of this process: floors of processes differ. Up to 1.4 MiB
/// was seen.
constexpr int64_t kFloorSpread = 2 * kMiB;
/// A budget that works for any process, where one that needs `budget` bytes was seen: their floors differ,
/// with the rooms of BLAS at start.
int64_t stated_budget(int64_t budget);

/// The execution of a feasible plan. Errors: BudgetTooSmall, which names the smallest budget that works.
ExecutionPlan require_feasible(const MemoryPlan& plan);

/// A run cannot be done within its budget.
class BudgetTooSmall : public Error {
 public:
  explicit BudgetTooSmall(const std::string& text) : Error(4, text) {}
};

}  // namespace plimsoll
