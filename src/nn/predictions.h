#pragma once

#include "nn/graph_model.h"
#include "nn/objective.h"

namespace plimsoll {

/// Predicts on data without labels. The outputs for each graph, or each node, are its logits followed by its
/// embedding. Nothing is minimised: losses() returns 0, or NaN if an output is not finite.
class Predictions : public Objective {
 public:
  /// `model` must outlive this object. Without `embeddings`, outputs are logits only.
  Predictions(const GraphModel& model, bool embeddings);

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override;
  int64_t outputs() const override { return model_.classes() + (embeddings_ ? model_.embedding() : 0); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override;

 private:
  const GraphModel& model_;
  const bool embeddings_;
};

}  // namespace plimsoll
