#include "nn/encodings.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace plimsoll {

at::Tensor Encodings::forward(const Batch& batch, const DropoutKey& key) const {
  const auto code = model_.encode(batch, key);
  return at::cat({code.mu, model_.decode(code.mu, batch, key)}, 1);
}

at::Tensor Encodings::losses(const at::Tensor& outputs, const Batch& batch) const {
  return (outputs.slice(1, model_.options().latent) - batch.x.slice(1, 1)).square().mean(1);
}

}  // namespace plimsoll
