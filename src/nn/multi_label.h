#pragma once

#include "nn/graph_model.h"
#include "nn/objective.h"

namespace plimsoll {

/// Minimises the binary cross-entropy of a model's logits for graphs or nodes with several labels, each 1
/// or 0. The loss of an item is the mean over its labels. An unknown label (NaN) counts as a label with loss
/// 0.
class MultiLabel : public Objective {
 public:
  /// `model` must outlive this object.
  explicit MultiLabel(const GraphModel& model) : model_(model) {}

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override { return model_.collate_options(); }
  int64_t outputs() const override { return model_.classes(); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& logits, const Batch& batch) const override;

 private:
  const GraphModel& model_;
};

}  // namespace plimsoll
