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
  const DeviceModel* model = nullptr;  ///< Null if no model was named.
  int64_t budget = 0;                  ///< Bytes that the run may use.
  int64_t margin = 0;                  ///< PlannedDevice::margin: 0 if the context was measured.
};
/// Returns the GPU to plan for: the model of --device-model, otherwise a GPU of this machine, otherwise one
/// with the memory of --device-budget; nullopt: the CPU. Errors: UsageError; NoDevice.
std::optional<PlannedCard> planned_card(const DeviceOptions& device);

/// The GPU for which a run is planned.
struct PlansDevice {
  std::optional<PlannedCard> card =
      {};  ///< The GPU of a static plan; absent for other plans and for the CPU.
  /// Device to run blocks on, for --mode measured and trial; otherwise null.
  std::unique_ptr<TrainingDevice> open = {};
};
/// Errors: UsageError; DeviceBudgetExceeded; Failure.
PlansDevice device_of_plan(const PlanOptions& options, int threads);

class CardTable;

/// Settings for printing the plans for a device.
struct DevicePlanView {
  Estimation mode;                   ///< How the plans were made.
  const PlannedCard* card;           ///< The GPU of static plans; null if blocks were run.
  const CardTable* table = nullptr;  ///< Null: print no table.
  int64_t epochs = 0;                ///< Maximum number of epochs of the run.
  double graphs_per_s = 0;           ///< Rate of a run on this GPU, stated by the user; 0: not stated.
  bool json = false;
};
/// Prints the memory that the stages need on a device. On the host, they need at most as much as without a
/// device. Errors: BudgetTooSmall, after printing, if the budget is too small.
void print_device_plans(const StagePlans& plans, const DevicePlanView& view);

}  // namespace plimsoll
