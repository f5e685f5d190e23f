#pragma once

#include "nn/objective.h"
#include "nn/vgae.h"

namespace plimsoll {

/// Measures how badly an autoencoder reconstructs graphs, from the means of codes. Items are graphs. The
/// outputs of a graph are the means over its nodes of [squared error of features, cross-entropy of the ID,
/// binary cross-entropy of the IDs to which it points], or zeros for a graph without nodes. The loss is
/// KD-GAT's difficulty: the error of features + 0.1 times the error of the ID. Used for prediction only.
class ReconstructionErrors : public Objective {
 public:
  /// `model` must outlive this object.
  explicit ReconstructionErrors(const GraphAutoencoderNeighborhood& model) : model_(model) {}

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override { return {.neighbour_ids = true}; }
  int64_t outputs() const override { return 3; }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override;

 private:
  const GraphAutoencoderNeighborhood& model_;
};

}  // namespace plimsoll
