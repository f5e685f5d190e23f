#include "kernels/dropout_rows.h"

namespace plimsoll {

extern const DropoutKernels dropout_avx2 = make_dropout_kernels<32>();

}  // namespace plimsoll
