#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/train_options.h"
#include "device/device_models.h"
#include "engine/blocks/training_device.h"
#include "run/plan_run.h"

namespace plimsoll {

/// A GPU that a run is planned for without opening it.
struct PlannedCard {
  const DeviceModel* model = nullptr;  ///< Null: not named.
  int64_t budget = 0;                  ///< Bytes that the run may use.
  int64_t margin = 0;                  ///< PlannedDevice::margin: 0 where the context was measured.
};
/// Returns the GPU that options name: of --device-model, otherwise one of this machine, otherwise one of
/// --device-budget; nullopt: the CPU. Errors: UsageError; NoDevice.
std::optional<PlannedCard> planned_card(const DeviceOptions& device);

/// The GPU for which a run is planned.
struct PlansDevice {
  std::optional<PlannedCard> card =
      {};  ///< The GPU of a static plan; absent for another plan, or for the CPU.
  /// Device to run blocks on, for --mode measured and trial; otherwise null.
  std::unique_ptr<TrainingDevice> open = {};
};
/// Errors: UsageError; DeviceBudgetExceeded; Failure.
PlansDevice device_of_plan(const PlanOptions& options, int threads);

/// Prints the memory that the stages need on a device, computed as `mode` says; on the host they need at most
/// as much as without a device. `card` is the GPU of a static plan; null: blocks were run. Errors:
/// BudgetTooSmall, after printing, if the budget is too small.
void print_device_plans(const StagePlans& plans, const PlannedCard* card, Estimation mode, bool json);

}  // namespace plimsoll
