#pragma once

#include <functional>
#include <memory>
#include <span>

#include "engine/blocks/block_engine.h"
#include "engine/blocks/run_blocks.h"
#include "engine/plan/block_plan.h"
#include "engine/plan/plan_input.h"

namespace plimsoll {

/// The kinds of work on blocks. `teaching`: an OffloadedTeacher runs on the blocks of the other two kinds.
enum class WorkKind { training, prediction, teaching };

/// One kind of work of a run: its blocks, and the memory they need.
struct PlannedWork {
  /// Visits all blocks. `input` must outlive the object.
  PlannedWork(const PlanInput& input, WorkKind kind);

  /// Finds the block that needs the largest range according to `plan`.
  void find_worst();
  /// Records the allocations of a block in this work, on an engine with the objective and teacher of the
  /// input.
  Tape record(BlockEngine& engine, const GraphBlock& block, const RangePlan& range = {}) const;
  /// The maximum of each size over all blocks.
  BlockSize largest() const;

  const PlanInput* input;
  WorkKind kind;
  const Objective* objective;
  CollateOptions options;
  std::shared_ptr<BlockPlan> plan;
  TermBox boxes[2];  ///< Box of the blocks that are not closed, and box of those that are.
  /// Whether `boxes` and `worst` come from the actual blocks. If not, `worst` is the largest of the known
  /// blocks.
  bool all_known = true;
  int64_t blocks = 0;  ///< Number of blocks visited.
  /// Maximum number of blocks of a batch, of a list to predict, or of one pass of a teacher.
  int64_t max_at_once = 0;
  int64_t max_bytes = 0;  ///< Bytes of a range that is sufficient for any block.
  double mean_bytes = 0;  ///< Mean bytes of ranges.
  GraphList worst;        ///< Graphs of the block with the largest range.

 private:
  int64_t known_epochs() const;
  bool visit(const std::function<void(std::span<const int64_t>)>& block) const;
};

}  // namespace plimsoll
