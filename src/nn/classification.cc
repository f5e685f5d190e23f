#include "nn/classification.h"

#include <ATen/Functions.h>
#include <ATen/core/Reduction.h>

namespace plimsoll {

at::Tensor Classification::forward(const Batch& batch, const DropoutKey& key) const {
  const at::Tensor logits = model_.forward(batch, key);
  return batch.items.defined() ? logits.index_select(0, batch.items) : logits;
}

at::Tensor Classification::losses(const at::Tensor& logits, const Batch& batch) const {
  return at::nll_loss(at::log_softmax(logits, 1), batch.y, /*weight=*/{}, at::Reduction::None);
}

}  // namespace plimsoll
