#pragma once

// The warp of warp.h on a CUDA device, and the launch that puts a step on a stream. For .cu files.

#include <string>

#include "base/error.h"
#include "kernels/warp.h"

namespace plimsoll {

class CudaWarp {
 public:
  template <typename V>
  class PerLane {
   public:
    __device__ explicit PerLane(V value = V()) : value_(value) {}
    __device__ V& operator[](int) { return value_; }

   private:
    V value_;
  };

  template <typename F>
  __device__ void each(F f) const {
    f(static_cast<int>(threadIdx.x % kWarpLanes));
  }
  __device__ void sync() const { __syncwarp(); }
  template <typename V>
  __device__ void sum(PerLane<V>& v, int low, int high) const {
    for (int bit = high / 2; bit >= low; bit /= 2) v[0] += __shfl_xor_sync(kAll, v[0], bit);
  }
  template <typename V>
  __device__ void highest(PerLane<V>& v, int low, int high) const {
    for (int bit = high / 2; bit >= low; bit /= 2) {
      const V other = __shfl_xor_sync(kAll, v[0], bit);
      v[0] = other > v[0] || other != other ? other : v[0];
    }
  }
  template <int kNumbers, typename T>
  __device__ Pack<T, kNumbers> load(const T* at) const {
    return *reinterpret_cast<const Pack<T, kNumbers>*>(at);
  }
  template <int kNumbers, typename T>
  __device__ void store(T* at, const Pack<T, kNumbers>& value) const {
    *reinterpret_cast<Pack<T, kNumbers>*>(at) = value;
  }

 private:
  static constexpr unsigned kAll = 0xFFFFFFFF;
};

inline constexpr int kCudaThreads = 128;

template <typename Step>
__global__ void __launch_bounds__(kCudaThreads) run_step(Step step, int64_t items) {
  const int64_t item = (static_cast<int64_t>(blockIdx.x) * kCudaThreads + threadIdx.x) / kWarpLanes;
  if (item < items) step(CudaWarp(), item);
}

/// launch(items, step) puts a step on the stream. Errors: Failure with CUDA's own text.
class CudaLaunch {
 public:
  explicit CudaLaunch(void* stream) : stream_(static_cast<cudaStream_t>(stream)) {}

  template <typename Step>
  void operator()(int64_t items, const Step& step) const {
    constexpr int64_t kWarps = kCudaThreads / kWarpLanes;
    if (items == 0) return;
    run_step<<<static_cast<unsigned>((items + kWarps - 1) / kWarps), kCudaThreads, 0, stream_>>>(step, items);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
      throw Failure(std::string("a CUDA kernel did not start: ") + cudaGetErrorString(error));
  }

 private:
  cudaStream_t stream_;
};

}  // namespace plimsoll
