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

/// A device that a run trains on: open, with one region that tensors are pieces of. Of what its driver and
/// libraries take beside it, it knows how much.
class TrainingDevice {
 public:
  /// GPU `index`, of which the run may use `budget` bytes, for so many threads. Takes all of the budget.
  /// Errors: UsageError where torch has no CUDA; DeviceBudgetExceeded where driver and libraries alone take
  /// it all; Failure.
  static std::unique_ptr<TrainingDevice> open_cuda(int index, int64_t budget, int threads);
  /// One whose memory the host can use, for tests: torch works there as on the CPU. `monitor` may be null.
  TrainingDevice(std::unique_ptr<Device> device, int64_t budget, int threads,
                 std::unique_ptr<GpuMonitor> monitor = nullptr);

  /// Another budget, while no run is on it and no tensor. Errors: DeviceBudgetExceeded, with the budget that
  /// was.
  void resize(int64_t budget);
  /// Likewise. Kernels that torch loads when it first uses them belong to the context: finds out what that is
  /// now, where the driver says it, and makes the region smaller by as much.
  void measure_again();

  Device& device() { return *device_; }
  DeviceTensors& tensors() { return *tensors_; }
  /// "NVIDIA H200": bits are the same on all of a model.
  std::string model() const;
  c10::Device torch() const { return torch_; }
  int64_t budget() const { return budget_; }
  /// A region is a multiple of it: a GPU gives its memory in pages of 2 MiB.
  int64_t unit() const { return index_ ? 2 * kMiB : DeviceRegion::kAlignment; }
  int threads() const { return threads_; }
  /// What driver and libraries take for the process and its threads.
  int64_t context() const { return context_; }
  /// What cuBLAS takes of the region for each stream.
  int64_t workspace() const { return workspace_; }
  /// What NVML says of the device now; none where that is not there.
  std::optional<GpuMonitor::Reading> reading() const;

 private:
  TrainingDevice(int index, int64_t budget, int threads);
  // What they take, with each used once; there is no region then.
  void measure_libraries(int64_t at_opening, int64_t free_at_opening);
  void take_region(int64_t bytes);
  void give_region();

  int64_t budget_;
  const int threads_;
  std::optional<int> index_;
  std::unique_ptr<GpuMonitor> monitor_;  // null: there is no NVML
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceRegion> region_;
  std::shared_ptr<DeviceTensors> tensors_;
  c10::Device torch_{c10::DeviceType::CPU};
  int64_t context_ = 0;
  int64_t workspace_ = 0;
};

}  // namespace plimsoll
