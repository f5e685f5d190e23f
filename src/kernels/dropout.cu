#include <string>

#include "base/error.h"
#include "base/philox.h"
#include "kernels/cuda.h"

namespace plimsoll {
namespace {

// One thread a factor. Neighbours in a row ask for the same four numbers; drawing them again is cheaper than
// sharing.
__global__ void fill_factors(Philox philox, uint32_t layer, uint32_t epoch, uint32_t dropped_below,
                             float kept, int64_t rows, int64_t channels, const int64_t* item,
                             const int64_t* local, float* factors) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= rows * channels) return;
  const int64_t row = at / channels;
  const uint64_t element = static_cast<uint64_t>(local[row] * channels + at % channels);
  const Philox::Counter bits = philox(philox_counter(
      Purpose::dropout, layer, epoch, static_cast<uint32_t>(item[row]), static_cast<uint32_t>(element / 4)));
  factors[at] = bits[element % 4] < dropped_below ? 0.0F : kept;
}

}  // namespace

int cuda_devices() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

void dropout_factors_cuda(uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                          int64_t channels, const int64_t* item, const int64_t* local, float* factors,
                          void* stream) {
  constexpr int64_t kThreads = 256;
  const int64_t blocks = (rows * channels + kThreads - 1) / kThreads;
  if (blocks == 0) return;
  fill_factors<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      Philox(seed), layer, epoch, static_cast<uint32_t>(p * 0x1p32), static_cast<float>(1.0 / (1.0 - p)),
      rows, channels, item, local, factors);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw Failure(std::string("the dropout kernel did not start: ") + cudaGetErrorString(error));
}

}  // namespace plimsoll
