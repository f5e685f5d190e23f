#pragma once

#include <filesystem>
#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "cli/train_options.h"
#include "engine/blocks/exchange.h"
#include "engine/blocks/training_device.h"
#include "memory/enforce.h"

namespace plimsoll {

/// The resources of train, evaluate and predict: threads, a device, and the applied budget.
class EngineSession {
 public:
  /// Opens the device and starts torch's threads before it applies the budget, because the memory of both is
  /// part of the floor. A budget below the floor is no error here: the planner reports it. `exchange`
  /// connects the ranks; null: there are no others. Errors: those of open_device(); UsageError if --budget is
  /// not a size.
  EngineSession(const Resources& resources, const DeviceOptions& device, Exchange* exchange);

  /// Returns the limits for work that runs in all threads of the session.
  MemoryShare memory() const { return budget_.share(threads_); }
  /// Null: the CPU.
  TrainingDevice* device() const { return device_.get(); }
  Budget& budget() { return budget_; }

  /// For --enforce: has the operating system enforce the budget, and reports on stderr the limits that cannot
  /// be set. `data` is the data set that threads started later will read.
  void enforce(const std::filesystem::path& data);
  /// Undoes enforce().
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
