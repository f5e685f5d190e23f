#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/blocks/block_engine.h"
#include "engine/blocks/block_terms.h"
#include "engine/data/epoch_order.h"
#include "engine/plan/planned_device.h"

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

}  // namespace plimsoll
