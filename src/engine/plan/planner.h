#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "engine/plan/memory_plan.h"
#include "engine/plan/plan_input.h"

namespace plimsoll {

/// Plans a run: records the tapes of a few small synthetic blocks, solves them (memory/tape_model.h), finds
/// the worst of all blocks, runs it once, and divides the rest of the ledger. Everything that lives as long
/// as the run must already be in the ledger, except gradients and `missing`. A plan may be infeasible.
/// Errors: BudgetExceeded if not even probes fit; UsageError if the model cannot be planned without data
/// (engine/plan/static_tape.h); with an open device, BudgetTooSmall if its budget is too small, and the
/// errors of plan_device(); Interrupted; those of running a block.
MemoryPlan make_plan(const PlanInput& input);

/// Predicts the list `predicted` and runs a whole step, according to a feasible plan. If blocks differ from
/// the plan, the plan is marked as inexact, for the host or for the device. `execution` is the plan's
/// execution, with the device's lanes if there are any. No weight changes. Errors: those of running blocks.
void try_out(const PlanInput& input, const ExecutionPlan& execution, std::span<const int64_t> predicted,
             MemoryPlan& plan);

/// Bytes by which a stated budget exceeds the need of this process, because the floors of processes differ.
/// Differences of up to 1.4 MiB were measured.
constexpr int64_t kFloorSpread = 2 * kMiB;
/// Converts the budget measured in one process to a budget that works for any process. Floors of processes
/// differ by the BLAS buffers at the start.
int64_t stated_budget(int64_t budget);

/// Returns the execution of a feasible plan. Errors: BudgetTooSmall, which names the smallest budget that
/// works.
ExecutionPlan require_feasible(const MemoryPlan& plan);

}  // namespace plimsoll
