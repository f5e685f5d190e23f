#pragma once

#include "nn/objective.h"
#include "nn/vgae.h"

namespace plimsoll {

/// Computes the outputs of an autoencoder from which a student learns (nn/vgae_distillation.h). For each
/// node, these are the mean of its code, followed by the features reconstructed from that mean. Items are
/// nodes; the loss is the mean squared error of the features. Used for prediction only.
class Encodings : public Objective {
 public:
  /// `model` must outlive this object.
  explicit Encodings(const GraphAutoencoderNeighborhood& model) : model_(model) {}

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override { return {.items = Items::nodes}; }
  /// Returns the width of a code plus the number of reconstructed features: latent + in_features - 1.
  int64_t outputs() const override { return model_.options().latent + model_.options().in_features - 1; }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override;

 private:
  const GraphAutoencoderNeighborhood& model_;
};

}  // namespace plimsoll
