#include "kernels/product_rows.h"

namespace plimsoll {

extern const ProductKernels product_portable = make_product_kernels<16>();

}  // namespace plimsoll
