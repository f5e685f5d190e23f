#pragma once

#include "config/sections/relational.h"
#include "nn/graph_model.h"
#include "nn/objective.h"

namespace plimsoll {

/// Minimises the squared or absolute error of a model's values for graphs, or for the nodes that have
/// targets. Each target is divided by its scale. The loss of an item is the mean over its targets. An unknown
/// target (NaN) counts as a target with error 0.
class Regression : public Objective {
 public:
  /// `model` is a model of values. It must outlive this object.
  explicit Regression(const GraphModel& model, ValueError error = ValueError::squared)
      : model_(model), error_(error) {}

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override { return model_.collate_options(); }
  int64_t outputs() const override { return model_.classes(); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& values, const Batch& batch) const override;

 private:
  const GraphModel& model_;
  const ValueError error_;
};

}  // namespace plimsoll
