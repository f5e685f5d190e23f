#include "kernels/cuda.h"

#ifndef PLIMSOLL_CUDA
#include "base/error.h"

namespace plimsoll {
namespace {

[[noreturn]] void refuse() {
  throw Failure("this build has no CUDA kernels; configure with `cmake --preset cuda`, which needs nvcc");
}

}  // namespace

int cuda_devices() {
  return 0;
}

void relu_dropout_cuda(uint64_t, uint32_t, uint32_t, double, int64_t, int64_t, const int64_t*, const int64_t*,
                       const float*, float*, void*) {
  refuse();
}

void relu_dropout_backward_cuda(double, int64_t, const float*, const float*, float*, void*) {
  refuse();
}

void normal_noise_cuda(uint64_t, uint32_t, int64_t, int64_t, const int64_t*, const int64_t*, float*, void*) {
  refuse();
}

void* cuda_allocate(int64_t) {
  refuse();
}

void cuda_free(void*) {}

void cuda_copy(void*, const void*, int64_t) {
  refuse();
}

}  // namespace plimsoll
#endif
