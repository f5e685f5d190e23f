#include "kernels/dropout/dropout.h"

#include "kernels/dropout/dropout_kernels.h"
#include "kernels/levels.h"

namespace plimsoll {

PLIMSOLL_DECLARE_LEVELS(dropout_kernels, DropoutKernels)

namespace {

const DropoutKernels& kernels_of(Level level) {
  return PLIMSOLL_AT_LEVEL(level, dropout_kernels);
}

}  // namespace

void dropout(Level level, uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t begin, int64_t end,
             int64_t channels, const float* x, float* out) {
  const DropoutDraws draws = {seed, layer, epoch, p, end - begin, channels, nullptr, nullptr, begin};
  kernels_of(level).times(draws, x + begin * channels, out + begin * channels);
}

void relu_dropout(Level level, uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                  int64_t channels, const int64_t* item, const int64_t* local, const float* x, float* out) {
  kernels_of(level).relu({seed, layer, epoch, p, rows, channels, item, local}, x, out);
}

void relu_dropout_backward(Level level, double p, int64_t count, const float* grad, const float* out,
                           float* dx) {
  kernels_of(level).relu_backward(p, count, grad, out, dx);
}

}  // namespace plimsoll
