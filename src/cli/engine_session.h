#pragma once

#include <filesystem>
#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "cli/train_options.h"
#include "engine/blocks/training_device.h"
#include "memory/enforce.h"

namespace plimsoll {

/// What train, evaluate and predict compute with: threads, a device, and a budget in force.
class EngineSession {
 public:
  /// Opens the device and starts the threads of torch before it takes the budget, because both take memory
  /// that is part of the floor. Errors: those of open_device() and Budget.
  EngineSession(const Resources& resources, const DeviceOptions& device, int ranks);

  MemoryShare memory() const { return budget_.share(threads_); }
  /// Null: the CPU.
  TrainingDevice* device() const { return device_.get(); }
  Budget& budget() { return budget_; }

  /// --enforce: has the kernel hold the process to the budget, and reports on stderr what the kernel refuses.
  /// `data` is the data set that further threads will read.
  void enforce(const std::filesystem::path& data);
  /// Ends enforce().
  void release() { enforcement_.reset(); }
  /// Returns {"rlimit_data_bytes", "cgroup", "refused"}, with null for absent values; null unless the kernel
  /// enforces the budget.
  Json enforced() const;

 private:
  const int threads_;
  const std::unique_ptr<TrainingDevice> device_;
  Budget budget_;
  std::unique_ptr<Enforcement> enforcement_;
};

}  // namespace plimsoll
