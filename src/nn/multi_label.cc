#include "nn/multi_label.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace plimsoll {

at::Tensor MultiLabel::forward(const Batch& batch, const DropoutKey& key) const {
  return model_.forward(batch, key).index_select(0, batch.items);
}

at::Tensor MultiLabel::losses(const at::Tensor& logits, const Batch& batch) const {
  const at::Tensor labels = batch.targets.index_select(0, batch.items);
  const at::Tensor unknown = labels.isnan();
  // The loss is log(1 + exp(-x)) for a label that is 1, and log(1 + exp(x)) for one that is 0.
  const at::Tensor known = at::softplus(logits) - logits * labels.masked_fill(unknown, 0);
  return known.masked_fill(unknown, 0).mean(1);
}

}  // namespace plimsoll
