#pragma once

#include "nn/graph_model.h"
#include "nn/objective.h"

namespace plimsoll {

/// Predicts whether pairs of nodes have an edge. The logit of a pair is the dot product of the model's
/// outputs for the two nodes, and the loss is its binary cross-entropy (Kipf and Welling, "Variational graph
/// auto-encoders", 2016, section 1.1).
class LinkPrediction : public Objective {
 public:
  /// `model` is a model of nodes whose classes() are the channels of an embedding. It must outlive this
  /// object.
  explicit LinkPrediction(const GraphModel& model) : model_(model) {}

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override;
  int64_t outputs() const override { return 1; }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& scores, const Batch& batch) const override;

 private:
  const GraphModel& model_;
};

}  // namespace plimsoll
