#include "nn/dropout.h"

#include <ATen/Functions.h>

#include "ops/dropout/relu_dropout.h"

namespace plimsoll {

at::Tensor relu_dropout(const at::Tensor& values, double p, uint32_t layer, const DropoutKey& key,
                        const at::Tensor& item, const at::Tensor& local) {
  if (!key.training || p == 0) return at::relu(values);
  return relu_dropout(values, p, key.seed, layer, key.epoch, item, local);
}

}  // namespace plimsoll
