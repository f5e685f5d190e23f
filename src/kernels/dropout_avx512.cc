#include "kernels/dropout_rows.h"

namespace plimsoll {

extern const DropoutKernels dropout_avx512 = make_dropout_kernels<64>();

}  // namespace plimsoll
