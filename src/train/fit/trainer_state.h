#pragma once

#include <memory>

#include "train/fit/checkpoint.h"
#include "train/fit/fit.h"
#include "train/fit/optimizer.h"
#include "train/fit/step_trace.h"
#include "train/plan/device_run.h"
#include "train/plan/planner.h"

namespace plimsoll {

/// What lives as long as a run of fit(), and no step allocates. Errors: BudgetExceeded.
struct TrainerState {
  explicit TrainerState(const FitOptions& options);

  std::unique_ptr<Optimizer> optimizer;
  BestWeights best;
  GraphList order;
  StepTrace trace;
  Position position;
};

/// How many blocks of a run may be in flight on a device.
int most_streams_of(const FitOptions& options);

/// The plan of fit(): TrainerState is there already, or counted where the run is planned without data.
/// `device`: where blocks will run; null: on the CPU.
MemoryPlan plan_with(const FitOptions& options, DeviceRun* device = nullptr);

}  // namespace plimsoll
