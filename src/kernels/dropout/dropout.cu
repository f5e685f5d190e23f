#include <string>

#include "base/error.h"
#include "base/philox.h"
#include "kernels/cuda.h"

namespace plimsoll {
namespace {

// Computes one number in each thread. Neighbours in a row need the same four random numbers; drawing them
// again is cheaper than sharing them.
__global__ void relu_times_factors(Philox philox, uint32_t layer, uint32_t epoch, uint32_t dropped_below,
                                   float kept, int64_t rows, int64_t channels, const int64_t* item,
                                   const int64_t* local, const float* x, float* out) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= rows * channels) return;
  const float value = x[at] <= 0 ? 0.0F : x[at];  // NaN stays NaN.
  const int64_t row = at / channels;
  const uint64_t element = static_cast<uint64_t>(local[row] * channels + at % channels);
  const Philox::Counter bits = philox(philox_counter(
      Purpose::dropout, layer, epoch, static_cast<uint32_t>(item[row]), static_cast<uint32_t>(element / 4)));
  out[at] = value * (bits[element % 4] < dropped_below ? 0.0F : kept);
}

__global__ void relu_times_factors_backward(float kept, int64_t count, const float* grad, const float* out,
                                            float* dx) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < count) dx[at] = out[at] <= 0 ? 0.0F : grad[at] * kept;  // NaN passes the gradient on.
}

// Computes four numbers of a row in each thread, in double as on the host.
__global__ void fill_normal(Philox philox, uint32_t epoch, int64_t rows, int64_t channels,
                            const int64_t* item, const int64_t* local, float* noise) {
  const int64_t quads = (channels + 3) / 4;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= rows * quads) return;
  const int64_t row = at / quads;
  const int64_t quad = at % quads;
  const Philox::Counter bits =
      philox(philox_counter(Purpose::latent_noise, 0, epoch, static_cast<uint32_t>(item[row]),
                            static_cast<uint32_t>(local[row] * quads + quad)));
  for (int pair = 0; pair < 4; pair += 2) {
    const double radius = sqrt(-2.0 * log(1.0 - static_cast<double>(uniform(bits[pair]))));
    double sine = 0;
    double cosine = 0;
    sincospi(2.0 * static_cast<double>(uniform(bits[pair + 1])), &sine, &cosine);
    const int64_t channel = 4 * quad + pair;
    if (channel < channels) noise[row * channels + channel] = static_cast<float>(radius * cosine);
    if (channel + 1 < channels) noise[row * channels + channel + 1] = static_cast<float>(radius * sine);
  }
}

constexpr int64_t kThreads = 256;

uint32_t dropped_below(double p) {
  return static_cast<uint32_t>(p * 0x1p32);
}
float kept_factor(double p) {
  return static_cast<float>(1.0 / (1.0 - p));
}

// Calls start(blocks) for `threads` threads.
template <typename Start>
void over(int64_t threads, const char* what, const Start& start) {
  if (threads == 0) return;
  start(static_cast<unsigned>((threads + kThreads - 1) / kThreads));
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw Failure(std::string(what) + " did not start: " + cudaGetErrorString(error));
}

}  // namespace

int cuda_devices() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

void relu_dropout_cuda(uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                       int64_t channels, const int64_t* item, const int64_t* local, const float* x,
                       float* out, void* stream) {
  over(rows * channels, "the relu and dropout kernel", [&](unsigned blocks) {
    relu_times_factors<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        Philox(seed), layer, epoch, dropped_below(p), kept_factor(p), rows, channels, item, local, x, out);
  });
}

void relu_dropout_backward_cuda(double p, int64_t count, const float* grad, const float* out, float* dx,
                                void* stream) {
  over(count, "the relu and dropout kernel", [&](unsigned blocks) {
    relu_times_factors_backward<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        kept_factor(p), count, grad, out, dx);
  });
}

void normal_noise_cuda(uint64_t seed, uint32_t epoch, int64_t rows, int64_t channels, const int64_t* item,
                       const int64_t* local, float* noise, void* stream) {
  over(rows * ((channels + 3) / 4), "the noise kernel", [&](unsigned blocks) {
    fill_normal<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(Philox(seed), epoch, rows,
                                                                            channels, item, local, noise);
  });
}

}  // namespace plimsoll
