#include "kernels/cuda.h"

#ifndef PLIMSOLL_CUDA
#include "base/error.h"

namespace plimsoll {

int cuda_devices() {
  return 0;
}

void dropout_factors_cuda(uint64_t, uint32_t, uint32_t, double, int64_t, int64_t, const int64_t*,
                          const int64_t*, float*, void*) {
  throw Failure("this build has no CUDA kernels; configure with `cmake --preset cuda`, which needs nvcc");
}

}  // namespace plimsoll
#endif
