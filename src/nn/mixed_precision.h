#pragma once

#include "nn/objective.h"

namespace plimsoll {

/// An objective whose model computes products in bfloat16 or float16 under torch.autocast (ops/autocast.h has
/// the rules for Plimsoll's operators). Weights, gradients, losses and the teacher's outputs are float32.
/// Bfloat16 has the range of float32. Float16 does not, so losses need a scale (engine/fit/loss_scale.h).
/// Tensors without data stay float32.
class MixedPrecision : public Objective {
 public:
  /// `objective` must outlive this object. `products` is kBFloat16 or kHalf.
  MixedPrecision(const Objective& objective, at::ScalarType products)
      : objective_(objective), products_(products) {}

  const ParameterList& parameters() const override { return objective_.parameters(); }
  CollateOptions collate_options() const override { return objective_.collate_options(); }
  void prepare(Batch& batch) const override { objective_.prepare(batch); }
  int64_t outputs() const override { return objective_.outputs(); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override {
    return objective_.losses(outputs, batch);
  }

 private:
  const Objective& objective_;
  const at::ScalarType products_;
};

}  // namespace plimsoll
