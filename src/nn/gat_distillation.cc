#include "nn/gat_distillation.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/teacher.h"

namespace plimsoll {

at::Tensor GatDistillation::losses(const at::Tensor& logits, const Batch& batch) const {
  require_teacher(batch, logits.size(0), logits.size(1));
  const at::Tensor wanted = at::log_softmax(batch.teacher / temperature_, 1);
  const at::Tensor said = at::log_softmax(logits / temperature_, 1);
  const at::Tensor divergence = (at::exp(wanted) * (wanted - said)).sum(1);
  return alpha_ * temperature_ * temperature_ * divergence + (1 - alpha_) * student_.losses(logits, batch);
}

}  // namespace plimsoll
