#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <shared_mutex>
#include <span>
#include <vector>

#include "base/workers.h"
#include "nn/graph_model.h"
#include "sample/batches.h"

namespace plimsoll {

/// Runs a model over batches block by block, depth first: a worker takes the next block, runs the whole
/// network forward and backward on it with one intra-op thread and adds its gradients in the order of the
/// blocks. Memory is `threads` x block, whatever the batch; results are the same bits for any number of
/// threads and any budget.
///
/// A block whose memory is refused is put back: older blocks end, the younger ones under way let go of
/// theirs, and the block runs again alone, from the same keys. If that fails too, BudgetExceeded reaches the
/// caller.
class BlockEngine {
 public:
  /// All arguments must outlive the engine. `shapes` has one entry for each graph of the source.
  BlockEngine(const BlockSource& source, std::span<const GraphShape> shapes, const GraphModel& model,
              const BlockLimits& limits, int threads);

  /// The gradient of the mean cross-entropy over the batch, into gradients(), which are overwritten. Returns
  /// the mean loss. Errors: Failure naming the graphs when the loss is not finite; BudgetExceeded.
  double gradient(std::span<const int64_t> batch, const DropoutKey& key);

  /// f32, one for each parameter and of its shape; Tag::gradients.
  const std::vector<at::Tensor>& gradients() const { return gradients_; }

  /// For each graph the log-odds of class 1 against class 0, without dropout, into `log_odds`. Returns the
  /// mean cross-entropy.
  double score(std::span<const int64_t> graphs, std::span<float> log_odds);

  /// How often a block had to run again alone.
  int64_t reruns() const { return reruns_; }

 private:
  template <typename Result, typename Run>
  Result run_or_run_alone(const Run& run, Turn& turn);

  const BlockSource& source_;
  std::span<const GraphShape> shapes_;
  const GraphModel& model_;
  BlockLimits limits_;
  Workers workers_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> gradients_;
  std::shared_mutex running_;  // shared by blocks that run together, exclusive for one that runs alone
  std::atomic<int64_t> reruns_ = 0;
};

}  // namespace plimsoll
