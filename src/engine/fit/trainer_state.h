#pragma once

#include <memory>

#include "engine/fit/checkpoint.h"
#include "engine/fit/fit.h"
#include "engine/fit/optimizer.h"
#include "engine/fit/step_trace.h"
#include "engine/plan/device_run.h"
#include "engine/plan/memory_plan.h"

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
int max_streams_of(const FitOptions& options);

/// The plan of fit(): TrainerState is there already, or counted where the run is planned without data.
/// `device`: where blocks will run; null: on the CPU.
MemoryPlan plan_with(const FitOptions& options, DeviceRun* device = nullptr);

}  // namespace plimsoll
