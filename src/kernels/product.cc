#include "kernels/product.h"

namespace plimsoll {

// One file a level.
extern const ProductKernels product_portable;
extern const ProductKernels product_avx2;
extern const ProductKernels product_avx512;

const ProductKernels& product_kernels(Level level) {
  if (level == Level::avx512) return product_avx512;
  return level == Level::avx2 ? product_avx2 : product_portable;
}

}  // namespace plimsoll
