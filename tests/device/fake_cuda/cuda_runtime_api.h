#pragma once

// The part of CUDA's runtime that device/cuda_device.cc calls, over the memory of the host. All calls fail,
// starting with the one that a test selects, as they do after a kernel fault.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

enum cudaError_t { cudaSuccess, cudaErrorNotReady = 600, cudaErrorIllegalAddress = 700 };
using cudaEvent_t = int*;
using cudaStream_t = int*;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
struct cudaUUID_t {
  char bytes[16] = {};
};
struct cudaDeviceProp {
  char name[8] = "fake";
  cudaUUID_t uuid = {};
  size_t totalGlobalMem = 0;
};
enum {
  cudaHostAllocDefault,
  cudaStreamNonBlocking = 1,
  cudaEventBlockingSync = 1,
  cudaEventDisableTiming = 2
};

namespace fake_cuda {

constexpr size_t kBytes = size_t{1} << 30;
inline int64_t calls = 0;
inline int64_t first_to_fail = std::numeric_limits<int64_t>::max();

template <typename Action>
cudaError_t call(const Action& action) {
  if (++calls >= first_to_fail) return cudaErrorIllegalAddress;
  action();
  return cudaSuccess;
}
inline cudaError_t call() {
  return call([] {});
}

}  // namespace fake_cuda

inline const char* cudaGetErrorString(cudaError_t) {
  return "an illegal memory access was encountered";
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  return fake_cuda::call([=] { *count = 1; });
}
inline cudaError_t cudaGetDevice(int* index) {
  return fake_cuda::call([=] { *index = 0; });
}
inline cudaError_t cudaSetDevice(int) {
  return fake_cuda::call();
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  return fake_cuda::call([=] {
    *properties = {.totalGlobalMem = fake_cuda::kBytes};
    properties->uuid.bytes[15] = static_cast<char>(index + 0xa0);
  });
}
inline cudaError_t cudaDeviceGetPCIBusId(char*, int, int) {
  return fake_cuda::call();
}
inline cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return fake_cuda::call([=] { *free = *total = fake_cuda::kBytes; });
}
inline cudaError_t cudaMalloc(void** data, size_t bytes) {
  return fake_cuda::call([=] { *data = std::malloc(bytes); });
}
inline cudaError_t cudaFree(void* data) {
  std::free(data);
  return fake_cuda::call();
}
inline cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  return cudaMalloc(data, bytes);
}
inline cudaError_t cudaFreeHost(void* data) {
  return cudaFree(data);
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return fake_cuda::call([=] { *event = nullptr; });
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) {
  return fake_cuda::call();
}
inline cudaError_t cudaEventQuery(cudaEvent_t) {
  return fake_cuda::call();
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return fake_cuda::call();
}
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return fake_cuda::call();
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return fake_cuda::call([=] { *stream = nullptr; });
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) {
  return fake_cuda::call();
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return fake_cuda::call();
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return fake_cuda::call();
}
inline cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t) {
  return fake_cuda::call([=] { std::memset(to, byte, bytes); });
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  return fake_cuda::call([=] { std::memcpy(to, from, bytes); });
}
