#include "device/cuda_device.h"

#ifndef PLIMSOLL_CUDA

namespace plimsoll {
namespace {

constexpr const char* kNoCuda =
    "this build has no CUDA; configure with `cmake --preset cuda`, which needs nvcc";

}  // namespace

CudaDevices find_cuda_devices() {
  return {0, kNoCuda};
}

std::unique_ptr<Device> open_cuda_device(int, int64_t, const GpuMonitor*) {
  throw Failure(kNoCuda);
}

std::unique_ptr<GpuMonitor> monitor_cuda_device(int) {
  return nullptr;
}

std::string cuda_device_name(int) {
  throw Failure(kNoCuda);
}

std::string cuda_device_id(int) {
  throw Failure(kNoCuda);
}

int64_t cuda_device_bytes(int) {
  throw Failure(kNoCuda);
}

}  // namespace plimsoll
#endif
