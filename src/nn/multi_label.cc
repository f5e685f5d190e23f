#include "nn/multi_label.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace plimsoll {

namespace {

at::Tensor rows_of_items(const at::Tensor& rows, const Batch& batch) {
  return batch.items.defined() ? rows.index_select(0, batch.items) : rows;
}

}  // namespace

at::Tensor MultiLabel::forward(const Batch& batch, const DropoutKey& key) const {
  return rows_of_items(model_.forward(batch, key), batch);
}

at::Tensor MultiLabel::losses(const at::Tensor& logits, const Batch& batch) const {
  const at::Tensor labels = rows_of_items(batch.targets, batch);
  const at::Tensor unknown = labels.isnan();
  // The loss is log(1 + exp(-x)) for a label that is 1, and log(1 + exp(x)) for one that is 0.
  const at::Tensor known = at::softplus(logits) - logits * labels.masked_fill(unknown, 0);
  return known.masked_fill(unknown, 0).mean(1);
}

}  // namespace plimsoll
