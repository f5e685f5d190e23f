#include "engine/plan/planned_engine.h"
#include "engine/plan/planner.h"

#include <utility>

namespace plimsoll {
namespace {

std::unique_ptr<DeviceRun> run_on(TrainingDevice* device, PlanInput& input) {
  if (device == nullptr) return nullptr;
  auto run = std::make_unique<DeviceRun>(*device, std::vector{&input.objective->parameters()});
  input.device = run->planned();
  return run;
}

ExecutionPlan execution_of(const MemoryPlan& plan, DeviceRun* device) {
  ExecutionPlan host = require_feasible(plan);
  return device != nullptr ? device->execution(*plan.device, std::move(host)) : host;
}

}  // namespace

PlannedEngine::PlannedEngine(PlanInput input, TrainingDevice* device, Rehearsal* rehearsal)
    : device_(run_on(device, input)), plan_(make_plan(input)) {
  if (rehearsal != nullptr)
    rehearsal->need(plan_.min_budget);
  else
    engine_.emplace(*input.source, input.shapes, *input.objective, input.limits,
                    execution_of(plan_, device_.get()));
}

}  // namespace plimsoll
