#include "kernels/dropout_rows.h"

namespace plimsoll {

extern const DropoutKernels dropout_portable = make_dropout_kernels<16>();

}  // namespace plimsoll
