#include "nn/gat_distillation.h"

#include "nn/teacher.h"
#include "ops/soft_target_losses/soft_target_losses.h"

namespace plimsoll {

at::Tensor GatDistillation::losses(const at::Tensor& logits, const Batch& batch) const {
  require_teacher(batch, logits.size(0), logits.size(1));
  return soft_target_losses(logits, batch.teacher, batch.y, temperature_, alpha_);
}

}  // namespace plimsoll
