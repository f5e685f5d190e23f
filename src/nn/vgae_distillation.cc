#include "nn/vgae_distillation.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/teacher.h"

namespace plimsoll {

VgaeDistillation::VgaeDistillation(const GraphAutoencoderNeighborhood& student, int64_t teacher_latent,
                                   double alpha, const ReconstructionWeights& weights)
    : student_(student),
      teacher_latent_(teacher_latent),
      alpha_(alpha),
      weights_(weights),
      parameters_(student.parameters()) {
  const int64_t latent = student.options().latent;
  if (latent != teacher_latent) projection_.emplace(parameters_, "projection", latent, teacher_latent);
}

at::Tensor VgaeDistillation::forward(const Batch& batch, const DropoutKey& key) const {
  require_teacher(batch, batch.nodes(), teacher_latent_ + student_.options().in_features - 1);
  const auto code = student_.encode(batch, key);
  const at::Tensor rebuilt = student_.decode(code.z, batch, key);
  // The student learns the teacher's means from its own means, not from samples.
  const at::Tensor mu = projection_ ? projection_->forward(code.mu) : code.mu;
  const at::Tensor taught = at::stack({(mu - batch.teacher.narrow(1, 0, teacher_latent_)).square().mean(1),
                                       (rebuilt - batch.teacher.slice(1, teacher_latent_)).square().mean(1)},
                                      1);
  return at::cat({taught, reconstruction_parts(student_, code, rebuilt, batch, key)}, 1);
}

at::Tensor VgaeDistillation::losses(const at::Tensor& outputs, const Batch&) const {
  const at::Tensor taught = 0.5 * outputs.select(1, 0) + 0.5 * outputs.select(1, 1);
  return alpha_ * taught + (1 - alpha_) * weighted(outputs.slice(1, 2), weights_);
}

}  // namespace plimsoll
