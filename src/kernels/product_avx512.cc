#include "kernels/product_rows.h"

namespace plimsoll {

extern const ProductKernels product_avx512 = make_product_kernels<64>();

}  // namespace plimsoll
