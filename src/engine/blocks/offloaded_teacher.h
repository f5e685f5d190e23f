#pragma once

#include <functional>
#include <span>

#include "base/units.h"
#include "config/recipe.h"
#include "engine/data/split.h"
#include "nn/objective.h"
#include "sample/block/batches.h"

namespace plimsoll {

/// A teacher that predicts some blocks of a batch, one after the other, before the student sees them
/// (distillation.teacher_outputs: offload). Its outputs are kept until it predicts the next blocks; its
/// weights can be released. The teacher runs block by block, so the number of blocks predicted at once
/// changes no result.
///
/// Several threads may call rows() for different blocks. The other functions must be called by a single
/// thread, while no block runs.
class OffloadedTeacher {
 public:
  /// Maximum bytes of teacher outputs held at a time, unless a single block has more. Larger batches need
  /// several passes, so that memory does not grow with the batch. The same maximum applies to the graphs that
  /// are kept for the student (ExecutionPlan::keep).
  static constexpr int64_t kMaxBytes = 8 * kMiB;

  /// `objective` makes the predictions. `release` frees its weights, which the next prediction loads again.
  /// All arguments except `split` must outlive the object. `shapes` has one entry per graph of the source.
  OffloadedTeacher(const Objective& objective, std::function<void()> release,
                   std::span<const GraphShape> shapes, const TrainingSplit& split,
                   const TrainingSection& training);

  const Objective& objective() const { return objective_; }
  /// Adds the width of the teacher's outputs to a source's widths.
  RowWidths with_outputs(RowWidths widths) const;

  /// Maximum number of graphs that the teacher predicts at once.
  int64_t max_graphs() const { return max_graphs_; }
  /// Bytes that make_room() enters in the ledger.
  int64_t bytes() const;
  /// Allocates the outputs under Tag::columns: for whole batches, or for part of a large one. Errors:
  /// BudgetExceeded.
  void make_room();

  /// Discards the outputs.
  void clear();
  /// Adds a block to the next prediction. Returns false, with nothing added, if the blocks added so far leave
  /// no space for its outputs.
  bool add(std::span<const int64_t> block);
  /// Returns a view of the teacher's outputs for a block, f32 [items, outputs], to write and to read. `first`
  /// is the number of graphs before the block since clear(). A synthetic block already contains outputs; the
  /// result is then a view of the block.
  at::Tensor rows(const GraphBlock& block, int64_t first);
  /// Frees the teacher's weights until the next prediction.
  void release() const { release_(); }

 private:
  int64_t rows_of(int64_t graph) const;

  const Objective& objective_;
  std::function<void()> release_;
  std::span<const GraphShape> shapes_;
  const bool of_nodes_;
  int64_t max_graphs_ = 0;
  int64_t max_rows_ = 0;
  Vector<float, Tag::columns> values_;  // [max_rows_, outputs]
  GraphList first_row_;                 // First row of each graph since clear().
  int64_t next_row_ = 0;
};

}  // namespace plimsoll
