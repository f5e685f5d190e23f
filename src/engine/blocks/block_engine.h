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

/// The end of a message whose remedy changes the recipe, which --resume refuses.
inline constexpr const char* kOtherRecipe =
    "with another recipe, start again with --force in place of --resume, or name another --run";

/// How much runs at once: what the budget decides, and with it the speed and nothing else.
struct ExecutionPlan {
  int blocks = 1;           ///< blocks in flight at most, one a thread
  int64_t slab_bytes = 0;   ///< for all of them; 0: no slab, tensors come from the heap
  int64_t min_bytes = 0;    ///< of it that are enough for any one block
  BlockSize largest = {};   ///< what each thread has room for
  int64_t prefetch = 0;     ///< blocks read ahead
  int64_t keep = 0;         ///< blocks whose graphs an OffloadedTeacher's student need not read again
  int64_t cache_bytes = 0;  ///< for the source's cache (BlockSource::resize_cache)
  bool recompute = false;   ///< layers run again in backward (nn/recompute.h)
  std::shared_ptr<const RangePlanner> training = nullptr;    ///< of blocks forward and backward
  std::shared_ptr<const RangePlanner> prediction = nullptr;  ///< of blocks forward
  std::shared_ptr<const RangePlanner> teaching = nullptr;    ///< of an OffloadedTeacher's blocks
  /// Blocks run there, and the slab has what they leave on the host; null: all of it.
  DeviceBlocks* device = nullptr;
  std::shared_ptr<const RangePlanner> device_training = nullptr;    ///< of ranges there; none: as they come
  std::shared_ptr<const RangePlanner> device_prediction = nullptr;  ///< likewise
  double graphs_per_s = 0;                                          ///< expected; 0: not known
};

/// Differentiates an objective over batches, block by block: a worker runs the whole network forward and
/// backward on its block with one intra-op thread, and gradients are added in the order of the blocks
/// (sample/block/block_runner.h), lane by lane (engine/blocks/lane_tree.h). Results are the same bits for any
/// execution.
///
/// With an OffloadedTeacher, blocks go through it first, and then through the objective: all of a batch, or
/// as many as it has room for.
///
/// With an Exchange the lanes of a batch, or of a list to predict, are shared out among the ranks of a run
/// (engine/blocks/lane_exchange.h). Every rank makes the same calls.
class BlockEngine {
 public:
  /// All arguments must outlive the engine. `shapes` has one entry for each graph of the source. `teacher`
  /// may be null. `lanes`: of a batch (engine/blocks/lane_tree.h), at least as many as ranks of `exchange`,
  /// which may be null.
  BlockEngine(const BlockSource& source, std::span<const GraphShape> shapes, const Objective& objective,
              const BlockLimits& limits, const ExecutionPlan& execution = {},
              OffloadedTeacher* teacher = nullptr, int64_t lanes = 1, Exchange* exchange = nullptr);

  /// The gradient of the mean loss over the batch's items, into gradients(), which are overwritten. Returns
  /// the mean loss. Running statistics move once, when all blocks are done. Errors: Failure naming the graph
  /// when a loss is not finite; BudgetExceeded. With ranks: as LaneExchange::add_up().
  /// `loss_scale`: the gradient is so many times as long; the loss returned is not.
  double gradient(std::span<const int64_t> batch, const DropoutKey& key, double loss_scale = 1);
  /// Announces a batch (BlockRunner::expect()), as far as it is this rank's.
  void expect(std::span<const int64_t> batch);

  /// f32, one for each parameter and of its shape; with ranks one for each piece of this rank's slice.
  /// Tag::gradients.
  const std::vector<at::Tensor>& gradients() const {
    return ranks_ ? ranks_->gradients() : sums_.sum().gradients;
  }
  /// With ranks: what they agree on and share; null without.
  LaneExchange* ranks() { return ranks_ ? &*ranks_ : nullptr; }
  /// With ranks: begins to receive what the others update of the parameters.
  void begin_parameters() {
    if (ranks_) ranks_->begin_parameters(sums_);
  }
  /// With ranks, after begin_parameters(): has the parameters, of which each has updated its slice, known to
  /// all.
  void share_parameters() {
    if (ranks_) ranks_->share_parameters(sums_);
  }
  /// With ranks: [parameters and some zeros] numbers that nobody uses between two steps.
  at::Tensor idle_row() { return sums_.sum().row; }

  /// Items of these graphs: what a mean is taken over.
  int64_t items(std::span<const int64_t> graphs) const;

  /// Without dropout. `take` gets what the objective says of the items of a few graphs, [items, outputs()],
  /// in the order of the graphs; with ranks those of this one. Returns the mean loss.
  using Take = std::function<void(std::span<const float> outputs)>;
  double predict(std::span<const int64_t> graphs, const Take& take);
  /// The same into `outputs`, which has room for all.
  double predict(std::span<const int64_t> graphs, std::span<float> outputs);
  /// The same on this rank alone, block by block, in their order: `take` also gets the sum of the block's
  /// losses. A block without items has no outputs.
  using TakeBlock = std::function<void(std::span<const float> outputs, double loss)>;
  void predict_blocks(std::span<const int64_t> graphs, const TakeBlock& take);

  /// Runs one block alone, forward and, if `training`, backward, and returns what it takes and gives of the
  /// slab. gradients() are overwritten. Errors: BudgetExceeded.
  Tape record(const GraphBlock& block, bool training, const RangePlan& plan = {});
  /// The same on the execution's device: what the block takes and gives of its range there, in which tensors
  /// go as `planner` says.
  struct OnDevice {
    Tape tape;
    int64_t bytes = 0;       ///< of the range that were in use, holes included
    int64_t staging = 0;     ///< pinned memory of the host
    bool as_planned = true;  ///< whether the planner was right
  };
  OnDevice record_on_device(const GraphBlock& block, bool training, const RangePlanner* planner = nullptr);
  /// As record(), through the teacher alone.
  Tape record_teaching(const GraphBlock& block, const RangePlan& plan = {});

  /// Runs a batch as gradient() does and forgets what it finds. Errors: as gradient().
  void try_out(std::span<const int64_t> batch);

  const Objective& objective() const { return objective_; }
  std::span<const GraphShape> shapes() const { return shapes_; }
  const BlockLimits& limits() const { return limits_; }
  BlockRunner& runner() { return runner_; }
  const BlockRunner& runner() const { return runner_; }

 private:
  BlockRunner::Work training_work(double normaliser, const DropoutKey& key, double loss_scale = 1);
  BlockRunner::Work training_on_device(double normaliser, const DropoutKey& key, double loss_scale);
  BlockRunner::Work prediction_work(const TakeBlock& take);
  BlockRunner::Work prediction_on_device(const TakeBlock& take);
  BlockRunner::Work teaching_work();
  at::Tensor teacher_says(const GraphBlock& block) const;
  Batch batch_of(const GraphBlock& block, int64_t first) const;
  void run(std::span<const int64_t> graphs, const BlockRunner::Work& work, const RangePlanner* planner);
  std::pair<at::Tensor, at::Tensor> losses_of(const at::Tensor& outputs, const Batch& batch,
                                              double normaliser) const;
  // Of a list, which has so many blocks, the graphs that this rank works on.
  struct Part {
    std::span<const int64_t> graphs;
    int64_t blocks;
  };
  Part part_of(std::span<const int64_t> graphs, int64_t lanes) const;
  LaneTree<BatchSum> make_sums();
  void require_finite(const at::Tensor& losses, const GraphBlock& block, const Batch& batch) const;

  std::span<const GraphShape> shapes_;
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
