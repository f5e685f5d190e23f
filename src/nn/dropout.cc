#include "nn/dropout.h"

#include <ATen/TensorOperators.h>

#include "ops/dropout_factors.h"

namespace plimsoll {

at::Tensor dropout(const at::Tensor& values, double p, uint32_t layer, const DropoutKey& key,
                   const at::Tensor& item, const at::Tensor& local) {
  if (!key.training || p == 0) return values;
  return values * dropout_factors(values, p, key.seed, layer, key.epoch, item, local);
}

}  // namespace plimsoll
