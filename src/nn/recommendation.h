#pragma once

#include "nn/graph_model.h"
#include "nn/objective.h"

namespace plimsoll {

/// Minimises the cross-entropy of a model's scores of all nodes that can be recommended, after softmax,
/// against the targets of a seed, of which Batch::targets [G, D] has the numbers: - sum_d (n_d / sum n) log
/// p_d. There are no negative samples. The validation loss is 1 - average precision of the `k` best nodes.
class Recommendation : public Objective {
 public:
  /// `model` must outlive this object.
  Recommendation(const GraphModel& model, int64_t k) : model_(model), k_(k) {}

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override { return model_.collate_options(); }
  int64_t outputs() const override { return model_.classes(); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& scores, const Batch& batch) const override;
  at::Tensor validation_losses(const at::Tensor& scores, const Batch& batch) const override;

 private:
  const GraphModel& model_;
  const int64_t k_;
};

/// The recommendations of a model: for each graph the `k` best nodes, the best first, and their scores, f32
/// [G, 2 k]; with `embeddings`, also the embedding of the seed, for which the model runs twice. Nothing is
/// minimised: losses() returns 0, or NaN if an output is not finite.
class BestNodes : public Objective {
 public:
  /// `model` must outlive this object.
  BestNodes(const GraphModel& model, int64_t k, bool embeddings)
      : model_(model), k_(k), embeddings_(embeddings) {}

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override { return model_.collate_options(); }
  int64_t outputs() const override { return 2 * k_ + (embeddings_ ? model_.embedding() : 0); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override;

 private:
  const GraphModel& model_;
  const int64_t k_;
  const bool embeddings_;
};

/// Returns the `k` highest of each row of scores f32 [G, D], from the highest down, as [G, 2 k]: first their
/// columns, below 2^24, then the scores. Of equal scores the one with the lower column is first. If a row has
/// fewer than `k` scores above -infinity, the rest of the list has column 0 and score -infinity. If a score
/// is NaN, so is the first of the row.
at::Tensor best_scores(const at::Tensor& scores, int64_t k);

}  // namespace plimsoll
