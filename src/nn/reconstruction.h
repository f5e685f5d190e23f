#pragma once

#include "nn/objective.h"
#include "nn/vgae.h"

namespace plimsoll {

/// The weights of the parts of a node's loss.
struct ReconstructionWeights {
  double id = 0.1;
  double neighbours = 0.05;
  double divergence = 0.01;
};

/// Returns the parts of each node's loss, f32 [N, 4]: mean squared error of its features, cross-entropy of
/// its ID, binary cross-entropy of the IDs to which it points, and the divergence of its code's distribution
/// from the standard normal distribution, -1/2 mean of (1 + logvar - mu^2 - exp(logvar)).
at::Tensor reconstruction_parts(const GraphAutoencoderNeighborhood& model,
                                const GraphAutoencoderNeighborhood::Code& code, const at::Tensor& rebuilt,
                                const Batch& batch, const DropoutKey& key);
/// Returns the weighted sum of the parts, f32 [N].
at::Tensor weighted(const at::Tensor& parts, const ReconstructionWeights& weights);

/// Trains an autoencoder as KD-GAT does. Items are nodes, so the loss of a batch is the mean over its nodes.
/// Outputs are the parts of the loss.
class Reconstruction : public Objective {
 public:
  /// `model` must outlive this object.
  explicit Reconstruction(const GraphAutoencoderNeighborhood& model,
                          const ReconstructionWeights& weights = {})
      : model_(model), weights_(weights) {}

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override { return {.items = Items::nodes, .neighbour_ids = true}; }
  int64_t outputs() const override { return 4; }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override;

 private:
  const GraphAutoencoderNeighborhood& model_;
  ReconstructionWeights weights_;
};

}  // namespace plimsoll
