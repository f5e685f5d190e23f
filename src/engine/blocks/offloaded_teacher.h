#pragma once

#include <functional>
#include <span>

#include "base/units.h"
#include "config/recipe.h"
#include "engine/data/split.h"
#include "nn/objective.h"
#include "sample/block/batches.h"

namespace plimsoll {

/// A teacher that is asked about some blocks of a batch, one after the other, before the student sees them
/// (distillation.teacher_outputs: offload): what it says stays until it is asked again, its weights need not.
/// How many blocks are asked about at once changes no result: a teacher is asked block by block.
///
/// rows() may be called by several threads for different blocks; the rest by one, while no block is worked
/// on.
class OffloadedTeacher {
 public:
  /// Of what is said at once: a large batch is asked about in several goes, so that the need does not grow
  /// with it. And of graphs that are kept meanwhile.
  static constexpr int64_t kMaxBytes = 8 * kMiB;

  /// `objective` predicts. `release` lets go of its weights, which come again when it is asked. All but
  /// `split` must outlive this; `shapes` has an entry for each graph of the source.
  OffloadedTeacher(const Objective& objective, std::function<void()> release,
                   std::span<const GraphShape> shapes, const TrainingSplit& split,
                   const Recipe::Training& training);

  const Objective& objective() const { return objective_; }
  /// Those of a source, with what the teacher says.
  RowWidths with_outputs(RowWidths widths) const;

  /// That it can be asked about at once.
  int64_t max_graphs() const { return max_graphs_; }
  /// What make_room() takes of the ledger.
  int64_t bytes() const;
  /// Takes it, under Tag::columns: for all batches, or a part of a large one. Errors: BudgetExceeded.
  void make_room();

  /// Forgets what was said.
  void clear();
  /// Adds a block to those to be asked about next. False where there is no room for it beside others.
  bool add(std::span<const int64_t> block);
  /// Where what is said of a block goes and stays, f32 [items, outputs]: a view. `first`: graphs in front of
  /// the block since clear(). Of a made-up block, which has it with it, that.
  at::Tensor rows(const GraphBlock& block, int64_t first);
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
  GraphList first_row_;                 // of each graph since clear()
  int64_t next_row_ = 0;
};

}  // namespace plimsoll
