#pragma once

#include <functional>
#include <memory>
#include <span>

#include "engine/blocks/block_engine.h"
#include "engine/blocks/run_blocks.h"
#include "engine/plan/block_plan.h"
#include "engine/plan/plan_input.h"

namespace plimsoll {

/// What a run does with blocks. teaching: an OffloadedTeacher on the blocks of both others.
enum class WorkKind { training, prediction, teaching };

/// One kind of work of a run: its blocks, and what they take.
struct PlannedWork {
  /// Looks over the blocks. `input` must outlive it.
  PlannedWork(const PlanInput& input, WorkKind kind);

  /// Looks for the block with the largest range, by `plan`.
  void find_worst();
  /// What a block takes and gives in this work, on an engine of the input's objective and teacher.
  Tape record(BlockEngine& engine, const GraphBlock& block, const RangePlan& range = {}) const;
  /// The most of each over all blocks.
  BlockSize largest() const;

  const PlanInput* input;
  WorkKind kind;
  const Objective* objective;
  CollateOptions options;
  std::shared_ptr<BlockPlan> plan;
  TermBox boxes[2];       ///< of blocks that are not closed, and of those that are
  bool all_known = true;  ///< boxes and worst are those of the blocks themselves
  int64_t blocks = 0;     ///< that were looked at
  int64_t max_at_once =
      0;  ///< the most of a batch, of a list to predict, or of what a teacher is asked at once
  int64_t max_bytes = 0;  ///< a range for any block
  double mean_bytes = 0;  ///< of ranges
  GraphList worst;        ///< the block with the largest range

 private:
  bool visit(const std::function<void(std::span<const int64_t>)>& block) const;
};

}  // namespace plimsoll
