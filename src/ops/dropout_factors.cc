#include "ops/dropout_factors.h"

#include <ATen/ops/empty.h>

#include "kernels/dropout.h"

namespace plimsoll {

at::Tensor dropout_factors(const at::Tensor& like, double p, uint64_t seed, uint32_t layer, uint32_t epoch,
                           const at::Tensor& item, const at::Tensor& local) {
  at::Tensor factors = at::empty(like.sizes(), like.options().dtype(at::kFloat));
  if (like.is_meta()) return factors;
  dropout_factors(kernel_level(), seed, layer, epoch, p, like.size(0), like.size(1),
                  item.const_data_ptr<int64_t>(), local.const_data_ptr<int64_t>(),
                  factors.mutable_data_ptr<float>());
  return factors;
}

}  // namespace plimsoll
