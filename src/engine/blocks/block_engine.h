#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/blocks/batch_sum.h"
#include "engine/blocks/device_blocks.h"
#include "engine/blocks/lane_exchange.h"
#include "engine/blocks/lane_tree.h"
#include "engine/blocks/offloaded_teacher.h"
#include "nn/objective.h"
#include "sample/block/block_runner.h"

namespace plimsoll {

/// The end of a message whose remedy changes the recipe, because --resume refuses another recipe.
inline constexpr const char* kOtherRecipe =
    "to train with another recipe, start again with --force in place of --resume, or name another --run";

/// How many blocks run at once, and with how much memory. It depends on the budget; it changes the speed,
/// never the results.
struct ExecutionPlan {
  int blocks = 1;  ///< Maximum number of blocks in flight; each has a thread.
  /// Bytes of the slab for all blocks; 0: no slab, tensors are allocated on the heap.
  int64_t slab_bytes = 0;
  int64_t min_bytes = 0;    ///< Bytes of the slab that are sufficient for any one block.
  BlockSize largest = {};   ///< Sizes of the largest block, for which each thread has memory.
  int64_t prefetch = 0;     ///< Number of blocks read ahead.
  int64_t keep = 0;         ///< Number of blocks whose graphs stay in memory for the student after the
                            ///< OffloadedTeacher has run.
  int64_t cache_bytes = 0;  ///< Bytes of the source's cache (BlockSource::resize_cache).
  bool recompute = false;   ///< Whether layers are recomputed in the backward pass (nn/recompute.h).
  std::shared_ptr<const RangePlanner> training = nullptr;  ///< Plans ranges for forward and backward passes.
  std::shared_ptr<const RangePlanner> prediction = nullptr;  ///< Plans ranges for forward passes.
  /// Plans ranges for the blocks of an OffloadedTeacher.
  std::shared_ptr<const RangePlanner> teaching = nullptr;
  /// If set, blocks run on this device, and the slab holds only the tensors that stay on the host.
  DeviceBlocks* device = nullptr;
  /// Plans ranges on the device for training; null: allocations are not planned.
  std::shared_ptr<const RangePlanner> device_training = nullptr;
  /// Plans ranges on the device for prediction; null: allocations are not planned.
  std::shared_ptr<const RangePlanner> device_prediction = nullptr;
  double graphs_per_s = 0;  ///< Expected speed; 0: unknown.
};

/// Differentiates an objective over batches, block by block. A worker runs the whole network forward and
/// backward on its block with one intra-op thread. Gradients are added in the order of the blocks
/// (sample/block/block_runner.h), lane by lane (engine/blocks/lane_tree.h). Results have the same bits for
/// any execution.
///
/// With an OffloadedTeacher, the teacher runs on blocks before the objective does: on the whole batch at
/// once, or on as many blocks as the teacher has memory for.
///
/// With an Exchange, the lanes of a batch, or of a list to predict, are shared among the ranks of a run
/// (engine/blocks/lane_exchange.h). Every rank makes the same calls.
class BlockEngine {
 public:
  /// All arguments must outlive the engine. `shapes` are those of all graphs of the source. `teacher` and
  /// `exchange` may be null. `lanes` is the number of lanes of a batch (engine/blocks/lane_tree.h), at least
  /// the number of ranks of `exchange`. Errors: BudgetExceeded, ThreadRefused.
  BlockEngine(const BlockSource& source, const GraphShapes& shapes, const Objective& objective,
              const BlockLimits& limits, const ExecutionPlan& execution = {},
              OffloadedTeacher* teacher = nullptr, int64_t lanes = 1, Exchange* exchange = nullptr);

  /// Writes the gradient of the mean loss over the batch's items to gradients(), and returns the mean loss.
  /// Running statistics are updated once, when all blocks are done. `loss_scale` multiplies the gradient, not
  /// the returned loss. Errors: if a loss is not finite, InputError naming a feature that is not finite or,
  /// if all features are finite, Failure naming the graph; BudgetExceeded; DeviceRegionFull; Interrupted
  /// (BlockRunner::stop_when()); with ranks, also the errors of LaneExchange::add_up().
  double gradient(std::span<const int64_t> batch, const DropoutKey& key, double loss_scale = 1);
  /// Announces the blocks of this rank's part of a batch (BlockRunner::expect()).
  void expect(std::span<const int64_t> batch);

  /// Returns f32 tensors: one per parameter, of its shape; with ranks, one per piece of this rank's slice
  /// (engine/blocks/slices.h). Accounted under Tag::gradients.
  const std::vector<at::Tensor>& gradients() const {
    return ranks_ ? ranks_->gradients() : sums_.sum().gradients;
  }
  /// The rows of each of gradients() that may differ from 0; empty with ranks, where any may.
  std::span<const RowMarks> gradient_rows() const {
    return ranks_ ? std::span<const RowMarks>() : std::span<const RowMarks>(sums_.sum().rows);
  }
  /// The exchange between ranks; null in a run of one process.
  LaneExchange* ranks() { return ranks_ ? &*ranks_ : nullptr; }
  /// With ranks: starts to receive the other ranks' updates of the parameters.
  void begin_parameters() {
    if (ranks_) ranks_->begin_parameters(sums_);
  }
  /// With ranks, after begin_parameters(): sends this rank's updated slice of the parameters to all other
  /// ranks, and waits for theirs.
  void share_parameters() {
    if (ranks_) ranks_->share_parameters(sums_);
  }
  /// With ranks: memory that is unused between two steps, f32, with one number per parameter value and some
  /// zeros.
  at::Tensor idle_row() { return sums_.sum().row; }

  /// Number of items of these graphs. The mean loss is taken over them.
  int64_t items(std::span<const int64_t> graphs) const;

  /// Predicts without dropout. `take` gets the outputs for the items of a few graphs at a time, [items,
  /// outputs()], in the order of the graphs; with ranks, only those of this rank. Any worker may call it, but
  /// only one at a time, and the outputs are valid only during the call. Returns the mean loss.
  /// Errors: those of gradient() and of `take`.
  using Take = std::function<void(std::span<const float> outputs)>;
  double predict(std::span<const int64_t> graphs, const Take& take);
  /// Predicts into `outputs`, which must have space for all items.
  double predict(std::span<const int64_t> graphs, std::span<float> outputs);
  /// Predicts on this rank alone, block by block in order. `take` is called as in predict(), and also gets
  /// the sum of the block's losses. A block without items has no outputs.
  using TakeBlock = std::function<void(std::span<const float> outputs, double loss)>;
  void predict_blocks(std::span<const int64_t> graphs, const TakeBlock& take);

  /// Runs one block alone, forward and, if `training`, backward, and returns its allocations in the slab.
  /// Overwrites gradients(). Errors: BudgetExceeded; those of the block's work, as in gradient().
  Tape record(const GraphBlock& block, bool training, const RangePlan& plan = {});
  /// Allocations of a block in its range on the device.
  struct DeviceRecording {
    Tape tape;
    int64_t bytes = 0;       ///< Bytes of the range that were in use, holes included.
    int64_t staging = 0;     ///< Bytes of pinned host memory.
    bool as_planned = true;  ///< Whether all tensors were placed as planned.
  };
  /// Does the same as record() on ExecutionPlan::device, which must be set. `planner` places the tensors; if
  /// it is null, each tensor is placed where it fits. Errors: DeviceRegionFull; those of record().
  DeviceRecording record_on_device(const GraphBlock& block, bool training,
                                   const RangePlanner* planner = nullptr);
  /// Does the same as record() for the teacher alone.
  Tape record_teaching(const GraphBlock& block, const RangePlan& plan = {});

  /// Runs a batch as gradient() does and discards the results. The engine must have no Exchange.
  /// Errors: those of gradient().
  void try_out(std::span<const int64_t> batch);

  const Objective& objective() const { return objective_; }
  const GraphShapes& shapes() const { return shapes_; }
  const BlockLimits& limits() const { return limits_; }
  BlockRunner& runner() { return runner_; }
  const BlockRunner& runner() const { return runner_; }

 private:
  BlockRunner::Work training_work(double normaliser, const DropoutKey& key, double loss_scale = 1);
  BlockRunner::Work training_on_device(double normaliser, const DropoutKey& key, double loss_scale);
  BlockRunner::Work prediction_work(const TakeBlock& take);
  BlockRunner::Work prediction_on_device(const TakeBlock& take);
  BlockRunner::Work teaching_work();
  at::Tensor teacher_outputs(const GraphBlock& block) const;
  Batch batch_of(const GraphBlock& block, int64_t first) const;
  void run(std::span<const int64_t> graphs, const BlockRunner::Work& work, const RangePlanner* planner);
  std::pair<at::Tensor, at::Tensor> losses_of(const at::Tensor& outputs, const Batch& batch,
                                              double normaliser) const;
  // The graphs of a list that this rank works on, and the number of blocks of the whole list.
  struct Part {
    std::span<const int64_t> graphs;
    int64_t blocks;
  };
  Part part_of(std::span<const int64_t> graphs, int64_t lanes) const;
  LaneTree<BatchSum> make_sums();
  void require_finite(const at::Tensor& losses, const GraphBlock& block, const Batch& batch) const;

  GraphShapes shapes_;
  const Objective& objective_;
  const BlockLimits limits_;
  const ExecutionPlan execution_;
  OffloadedTeacher* const teacher_;
  std::vector<at::Tensor> parameters_;
  const int64_t lanes_;
  Exchange* const exchange_;
  std::optional<LaneExchange> ranks_;
  LaneTree<BatchSum> sums_;
  BlockRunner runner_;
};

}  // namespace plimsoll
