#pragma once

#include "nn/reconstruction.h"

namespace plimsoll {

/// Trains an autoencoder from data and from a teacher's Encodings, batch.teacher f32 [N, teacher_latent +
/// in_features - 1] (nn/encodings.h): of each node alpha (0.5 MSE(P mu, teacher's mu) + 0.5 MSE(rebuilt,
/// teacher's rebuilt)) + (1 - alpha) its loss as Reconstruction. P is the identity where both codes are of
/// one width, else a linear layer that trains with the student. Items are nodes; outputs are both MSE, then
/// the parts of the loss. Errors: Failure for a teacher that is missing or of another shape.
class VgaeDistillation : public Objective {
 public:
  /// `student` must outlive it. P begins with numbers that follow from the seed of the student.
  VgaeDistillation(const GraphAutoencoderNeighborhood& student, int64_t teacher_latent, double alpha,
                   const ReconstructionWeights& weights = {});

  /// The student's, and where there is a P "projection.weight" and "projection.bias".
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
