#pragma once

#include "nn/graph_model.h"
#include "nn/objective.h"

namespace plimsoll {

/// What a model says where nobody knows what is right: of every graph, or of every node, logits and then
/// embeddings. There is nothing to be made small; losses() is 0, or no number where an output is none.
class Predictions : public Objective {
 public:
  /// `model` must outlive it. Without `embeddings` outputs are logits alone.
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
