#pragma once

#include <memory>
#include <optional>

#include "engine/blocks/block_engine.h"
#include "engine/plan/device_run.h"
#include "engine/plan/memory_plan.h"
#include "engine/plan/plan_input.h"
#include "engine/plan/rehearsal.h"

namespace plimsoll {

/// An engine that predicts lists of graphs as a plan of them says: what a model says is the same for any
/// budget, threads, device budget and blocks in flight.
class PlannedEngine {
 public:
  /// Plans `input`, which trains nothing. `device`: where blocks run; null: on the CPU. `rehearsal`: learns
  /// which budget the plan needs, and there is no engine; null: it is no rehearsal. What the input names must
  /// outlive it. Errors: BudgetTooSmall, of the host or of the device; as make_plan().
  explicit PlannedEngine(PlanInput input, TrainingDevice* device = nullptr, Rehearsal* rehearsal = nullptr);

  BlockEngine& operator*() { return *engine_; }
  BlockEngine* operator->() { return &*engine_; }
  const MemoryPlan& plan() const { return plan_; }

 private:
  std::unique_ptr<DeviceRun> device_;  // null: the CPU
  MemoryPlan plan_;
  std::optional<BlockEngine> engine_;  // none in a rehearsal
};

}  // namespace plimsoll
