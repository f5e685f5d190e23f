#pragma once

#include "nn/graph_model.h"
#include "nn/objective.h"

namespace plimsoll {

/// Minimises the cross-entropy of a model's logits against the labels of graphs or of labelled nodes.
class Classification : public Objective {
 public:
  /// `model` must outlive this object.
  explicit Classification(const GraphModel& model) : model_(model) {}

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override { return model_.collate_options(); }
  int64_t outputs() const override { return model_.classes(); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& logits, const Batch& batch) const override;

 private:
  const GraphModel& model_;
};

}  // namespace plimsoll
