#include "kernels/dropout.h"

namespace plimsoll {

using DropoutFactors = void(uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                            int64_t channels, const int64_t* item, const int64_t* local, float* factors);
// One file a level.
DropoutFactors dropout_factors_portable;
DropoutFactors dropout_factors_avx2;
DropoutFactors dropout_factors_avx512;

void dropout_factors(Level level, uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                     int64_t channels, const int64_t* item, const int64_t* local, float* factors) {
  DropoutFactors* const fill = level == Level::avx512 ? dropout_factors_avx512
                               : level == Level::avx2 ? dropout_factors_avx2
                                                      : dropout_factors_portable;
  fill(seed, layer, epoch, p, rows, channels, item, local, factors);
}

}  // namespace plimsoll
