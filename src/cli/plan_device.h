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
  const DeviceModel* model = nullptr;  ///< The model of --device-model; null: not given.
  int64_t budget = 0;                  ///< Bytes that the run may use.
  int64_t margin = 0;                  ///< PlannedDevice::margin: 0 if the context was measured.
};
/// Returns the GPU to plan for: the model of --device-model, otherwise a GPU of this machine, otherwise one
/// with the memory of --device-budget. Returns nullopt for the CPU, which --device auto also means if this
/// machine has no GPU and no model is given. Errors: UsageError; NoDevice.
std::optional<PlannedCard> planned_card(const DeviceOptions& device);

/// The GPU for which `plimsoll plan` plans a run. Both fields are empty for a plan for the CPU.
struct PlansDevice {
  std::optional<PlannedCard> card = {};  ///< Only of a static plan.
  /// The device to run blocks on, for --mode measured and trial.
  std::unique_ptr<TrainingDevice> open = {};
};
/// Returns the GPU that the options name, opened for `threads` threads if blocks are to run on it. Without
/// --mode, a plan for a GPU is static. Errors: those of planned_card() and open_device(); UsageError if
/// --table is given too, or if --mode is to run blocks on a GPU that this machine does not have.
PlansDevice device_of_plan(const PlanOptions& options, int threads);

class CardTable;

/// Settings for printing the plans for a device.
struct DevicePlanView {
  Estimation mode;                   ///< How the plans were made.
  const PlannedCard* card;           ///< The GPU of static plans; null if blocks were run.
  const CardTable* table = nullptr;  ///< The table of larger blocks and of GPU models; null: print none.
  int64_t epochs = 0;                ///< Maximum number of epochs of the run.
  double graphs_per_s = 0;           ///< Rate of a run on this GPU, stated by the user; 0: not stated.
  bool json = false;
};
/// Prints the memory that the stages need on a device, as text or JSON. `plans` must not be empty, and each
/// must have a plan for the device. On the host, the stages need at most as much as without a device. Errors:
/// BudgetTooSmall, after printing, if the device budget is too small.
void print_device_plans(const StagePlans& plans, const DevicePlanView& view);

}  // namespace plimsoll
