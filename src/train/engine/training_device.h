#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "device/device_region.h"
#include "ops/device_tensors.h"

namespace plimsoll {

/// A device that a run trains on: open, with one region that tensors are pieces of. Of what its driver and
/// libraries take beside it, it knows how much.
class TrainingDevice {
 public:
  /// GPU `index`, of which the run may use `budget` bytes, for so many threads. Takes all of the budget.
  /// Errors: UsageError where torch has no CUDA; BudgetTooSmall where the driver and libraries alone take it
  /// all; Failure.
  static std::unique_ptr<TrainingDevice> open_cuda(int index, int64_t budget, int threads);
  /// One whose memory the host can use, for tests: torch works there as on the CPU.
  TrainingDevice(std::unique_ptr<Device> device, int64_t budget, int threads);

  /// Another budget, while no run is on it.
  void resize(int64_t budget);

  Device& device() { return *device_; }
  DeviceTensors& tensors() { return *tensors_; }
  /// "NVIDIA H200": bits are the same on all of a model.
  std::string model() const;
  c10::Device torch() const { return torch_; }
  int64_t budget() const { return budget_; }
  int threads() const { return threads_; }
  /// What driver and libraries take for the process and its threads.
  int64_t context() const { return context_; }
  /// What cuBLAS takes of the region for each stream.
  int64_t workspace() const { return workspace_; }
  /// What the process holds of the device now, by NVML; none where that does not say.
  std::optional<int64_t> measured() const;

 private:
  TrainingDevice(int index, int64_t budget, int threads);
  void take_region(int64_t bytes);
  void give_region();

  int64_t budget_;
  const int threads_;
  std::optional<int> index_;
  std::optional<int64_t> used_before_;  // by all processes
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceRegion> region_;
  std::unique_ptr<DeviceTensors> tensors_;
  c10::Device torch_{c10::DeviceType::CPU};
  int64_t context_ = 0;
  int64_t workspace_ = 0;
};

}  // namespace plimsoll
