#include "kernels/product_rows.h"

namespace plimsoll {

extern const ProductKernels product_avx2 = make_product_kernels<32>();

}  // namespace plimsoll
