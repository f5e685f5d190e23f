#include "nn/regression.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace plimsoll {
namespace {

at::Tensor of_items(const at::Tensor& rows, const Batch& batch) {
  return batch.items.defined() ? rows.index_select(0, batch.items) : rows;
}

}  // namespace

at::Tensor Regression::forward(const Batch& batch, const DropoutKey& key) const {
  return of_items(model_.forward(batch, key), batch);
}

at::Tensor Regression::losses(const at::Tensor& values, const Batch& batch) const {
  const at::Tensor targets = of_items(batch.targets, batch);
  // The model's own value replaces an unknown target, so that its error and gradient are 0.
  const at::Tensor expected = at::where(targets.isnan(), values.detach(), targets);
  const at::Tensor errors = (values - expected) / model_.target_units().scale;
  return (error_ == ValueError::absolute ? errors.abs() : errors.square()).mean(1);
}

}  // namespace plimsoll
