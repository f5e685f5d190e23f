#pragma once

#include <memory>

#include "engine/fit/checkpoint.h"
#include "engine/fit/fit.h"
#include "engine/fit/optimizer.h"
#include "engine/fit/step_trace.h"
#include "engine/plan/device_run.h"
#include "engine/plan/memory_plan.h"

namespace plimsoll {

/// The state that lives as long as a run of fit(), so that no step has to allocate it. Errors:
/// BudgetExceeded.
struct TrainerState {
  explicit TrainerState(const FitOptions& options);

  std::unique_ptr<Optimizer> optimizer;
  BestWeights best;
  GraphList order;
  StepTrace trace;
  Position position;
};

/// Returns the maximum number of blocks of a run that are in flight on a device.
int max_streams_of(const FitOptions& options);

/// Returns the plan of fit(). TrainerState must already exist, except in planning without data, which adds
/// its size. Blocks will run on `device`, or on the CPU if it is null. Errors: those of make_plan();
/// UsageError if the recipe asks for a table of embeddings on a disk and there is none.
MemoryPlan plan_with(const FitOptions& options, DeviceRun* device = nullptr);

}  // namespace plimsoll
