#include "kernels/product.h"

#include "kernels/levels.h"

namespace plimsoll {

PLIMSOLL_DECLARE_LEVELS(product_f32, ProductKernels)

const ProductKernels& product_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, product_f32);
}

}  // namespace plimsoll
