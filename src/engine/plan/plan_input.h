#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/sections/memory.h"
#include "config/sections/training.h"
#include "engine/blocks/block_engine.h"
#include "engine/blocks/block_terms.h"
#include "engine/data/epoch_order.h"
#include "engine/plan/planned_device.h"
#include "memory/memory_share.h"

namespace plimsoll {

/// Bytes that live as long as the run and are not in the ledger yet, by tag.
struct PendingAllocation {
  int64_t parameters = 0, optimizer = 0, columns = 0, output = 0;
  int64_t sum() const { return parameters + optimizer + columns + output; }
};

/// The graphs that a run works on, and how the run works on them. All objects and arrays that it refers to
/// must outlive the plan made from it.
struct PlanInput {
  const BlockSource* source = nullptr;
  GraphShapes shapes;  ///< Shapes of all graphs of the source.
  const Objective* objective = nullptr;
  /// Weights that stay in memory and are not trained, such as a teacher's. They are already held or in
  /// `missing`. May be null.
  const ParameterList* live_teacher = nullptr;
  /// An offloaded teacher, whose outputs are already held or in `missing`. May be null.
  OffloadedTeacher* offloaded_teacher = nullptr;
  BlockLimits limits = {};
  int64_t lanes = 1;  ///< Number of lanes of a training batch (engine/blocks/lane_tree.h).
  int ranks = 1;      ///< Number of ranks that share the lanes. The plan is valid for any rank.
  /// The memory of the run. The plan divides the part of it that the ledger counts.
  MemoryShare memory = {};
  int64_t prefetch = 2;

  std::span<const int64_t> training = {};  ///< Training graphs; empty if the run only predicts.
  uint64_t seed = 0;                       ///< Seed for the shuffling of every epoch.
  const Curriculum* curriculum = nullptr;  ///< If null, all graphs are used in every epoch.
  bool fresh_epochs = false;               ///< Same meaning as EpochOrder::fresh.
  Resampling resampling = {};              ///< How training graphs differ by epoch.
  int64_t epochs = 0;
  int64_t batch_size = 0;
  std::vector<std::span<const int64_t>> predicted = {};  ///< Lists to predict, each in its order.

  GradientCheckpointing recompute = GradientCheckpointing::automatic;
  /// How the needed memory is determined: static (nothing is run, and the objective's parameters have no
  /// data), measured (runs probes and the worst training block), or trial (runs the worst block of each kind
  /// and a whole step).
  Estimation estimation = Estimation::measured;
  int64_t later = 0;  ///< Bytes that the caller allocates during the run, such as scores.
  PendingAllocation missing = {};
  /// Number of tensors that the optimizer keeps per parameter, each of the parameter's shape.
  int64_t optimizer_tensors = 0;
  std::optional<PlannedDevice> device = {};  ///< If set, the run is planned for this device, too.

  BlockShapes block_shapes() const { return {shapes, source->prefix_shapes(), source->part_counts()}; }
  EpochOrder order() const { return {training, curriculum, seed, fresh_epochs, resampling}; }
};

}  // namespace plimsoll
