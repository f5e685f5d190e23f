#include "nn/classification.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace plimsoll {

at::Tensor Classification::forward(const Batch& batch, const DropoutKey& key) const {
  const at::Tensor logits = model_.forward(batch, key);
  return batch.items.defined() ? logits.index_select(0, batch.items) : logits;
}

at::Tensor Classification::losses(const at::Tensor& logits, const Batch& batch) const {
  return -at::log_softmax(logits, 1).gather(1, batch.y.unsqueeze(1)).squeeze(1);
}

}  // namespace plimsoll
