#include "kernels/product/product.h"

#include "kernels/levels.h"

namespace plimsoll {

PLIMSOLL_DECLARE_LEVELS(product_f32, ProductKernels<float>)
PLIMSOLL_DECLARE_LEVELS(product_f64, ProductKernels<double>)

template <>
const ProductKernels<float>& product_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, product_f32);
}

template <>
const ProductKernels<double>& product_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, product_f64);
}

}  // namespace plimsoll
