#pragma once

#include "nn/reconstruction.h"

namespace plimsoll {

/// Trains an autoencoder on data and on a teacher's Encodings, batch.teacher f32 [N, teacher_latent +
/// in_features - 1] (nn/encodings.h). The loss of a node is alpha (0.5 MSE(P mu, teacher's mu) + 0.5
/// MSE(reconstruction, teacher's reconstruction)) + (1 - alpha) times its loss in Reconstruction. P is the
/// identity if both codes have the same width, otherwise a linear layer that is trained together with the
/// student. Items are nodes; outputs are the two MSEs, then the parts of the loss. Errors of forward():
/// Failure if the teacher's outputs are missing or have another shape.
class VgaeDistillation : public Objective {
 public:
  /// `student` must outlive this object. The initial values of P are derived from the student's seed.
  VgaeDistillation(const GraphAutoencoderNeighborhood& student, int64_t teacher_latent, double alpha,
                   const ReconstructionWeights& weights = {});

  /// Returns the student's parameters, and "projection.weight" and "projection.bias" if P is a linear layer.
  const ParameterList& parameters() const override { return parameters_; }
  CollateOptions collate_options() const override { return {.items = Items::nodes, .neighbour_ids = true}; }
  int64_t outputs() const override { return 6; }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override;

 private:
  const GraphAutoencoderNeighborhood& student_;
  int64_t teacher_latent_;
  double alpha_;
  ReconstructionWeights weights_;
  ParameterList parameters_;
  std::optional<Linear> projection_;
};

}  // namespace plimsoll
