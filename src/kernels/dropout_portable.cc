#include "kernels/dropout_rows.h"

namespace plimsoll {

void dropout_factors_portable(uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                              int64_t channels, const int64_t* item, const int64_t* local, float* factors) {
  dropout_rows<16>(seed, layer, epoch, p, rows, channels, item, local, factors);
}

}  // namespace plimsoll
