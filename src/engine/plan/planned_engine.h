#pragma once

#include <memory>
#include <optional>

#include "engine/blocks/block_engine.h"
#include "engine/plan/device_run.h"
#include "engine/plan/memory_plan.h"
#include "engine/plan/plan_input.h"
#include "engine/plan/rehearsal.h"

namespace plimsoll {

/// An engine that predicts lists of graphs according to a plan for them. The predictions are the same for any
/// budget, device budget, number of threads and number of blocks in flight.
class PlannedEngine {
 public:
  /// Plans `input`, which must not train anything. Blocks run on `device`, or on the CPU if it is null. If
  /// `rehearsal` is not null, it gets the budget that the plan needs, and no engine is made. The objects that
  /// `input` points to must outlive it. Errors: BudgetTooSmall for the host or the device; those of
  /// make_plan() and of BlockEngine.
  explicit PlannedEngine(PlanInput input, TrainingDevice* device = nullptr, Rehearsal* rehearsal = nullptr);

  BlockEngine& operator*() { return *engine_; }
  BlockEngine* operator->() { return &*engine_; }
  const MemoryPlan& plan() const { return plan_; }

 private:
  std::unique_ptr<DeviceRun> device_;  // Null on the CPU.
  MemoryPlan plan_;
  std::optional<BlockEngine> engine_;  // Not set in a rehearsal.
};

}  // namespace plimsoll
