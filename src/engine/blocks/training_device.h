#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/units.h"
#include "device/device_region.h"
#include "device/gpu_monitor.h"
#include "ops/device_tensors.h"

namespace plimsoll {

/// An open device on which a run trains, with one region from which tensors are allocated. Records how much
/// memory its driver and libraries use outside the region.
class TrainingDevice {
 public:
  /// Opens GPU `index` for `threads` threads, and reserves all of `budget` bytes. Errors: UsageError if torch
  /// has no CUDA; DeviceBudgetExceeded if driver and libraries alone use all of it; Failure if the device
  /// cannot be opened or fails.
  static std::unique_ptr<TrainingDevice> open_cuda(int index, int64_t budget, int threads);
  /// Opens a device whose memory the host can access, for tests; torch works there as on the CPU. `monitor`
  /// may be null. Errors: DeviceBudgetExceeded.
  TrainingDevice(std::unique_ptr<Device> device, int64_t budget, int threads,
                 std::unique_ptr<GpuMonitor> monitor = nullptr);

  /// Changes the budget. Must not be called while a run or a tensor uses the device. Errors:
  /// DeviceBudgetExceeded; the old budget then remains in effect.
  void resize(int64_t budget);
  /// Measures how much memory the context uses now, if the driver reports it, and shrinks the region by the
  /// growth. The context grows because it contains the kernels that torch loads on first use. Must not be
  /// called while a run or a tensor uses the device. Errors: DeviceBudgetExceeded.
  void measure_again();

  Device& device() { return *device_; }
  DeviceTensors& tensors() { return *tensors_; }
  /// The model, such as "NVIDIA H200". Results have the same bits on all devices of one model.
  std::string model() const;
  c10::Device torch() const { return torch_; }
  int64_t budget() const { return budget_; }
  /// The size of a region is a multiple of this, because a GPU allocates pages of 2 MiB.
  int64_t unit() const { return index_ ? 2 * kMiB : DeviceRegion::kAlignment; }
  int threads() const { return threads_; }
  /// Bytes that driver and libraries use for the process and its threads.
  int64_t context() const { return context_; }
  /// Bytes of the region that cuBLAS uses for each stream.
  int64_t workspace() const { return workspace_; }
  /// Returns what NVML reports about the device now; nullopt if NVML is not available.
  std::optional<GpuMonitor::Reading> reading() const;

 private:
  TrainingDevice(int index, int64_t budget, int threads);
  // Measures how much memory driver and libraries use once each library has been used. Frees the region.
  void measure_libraries(int64_t at_opening, int64_t free_at_opening);
  void take_region(int64_t bytes);
  void give_region();

  int64_t budget_;
  const int threads_;
  std::optional<int> index_;
  std::unique_ptr<GpuMonitor> monitor_;  // Null if NVML is not available.
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceRegion> region_;
  std::shared_ptr<DeviceTensors> tensors_;
  c10::Device torch_{c10::DeviceType::CPU};
  int64_t context_ = 0;
  int64_t workspace_ = 0;
};

}  // namespace plimsoll
