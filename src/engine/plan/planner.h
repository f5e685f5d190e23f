#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "engine/plan/memory_plan.h"
#include "engine/plan/plan_input.h"

namespace plimsoll {

/// Plans a run: records the tapes of a few small made-up blocks, solves them (memory/tape_model.h), looks for
/// the worst of all blocks, runs it once, and divides what the ledger has left. What lives as long as the run
/// must stand in the ledger already, gradients and `missing` aside. Errors: BudgetExceeded where not even
/// probes fit; UsageError where a model cannot be planned so (engine/plan/static_tape.h).
MemoryPlan make_plan(const PlanInput& input);

/// Runs `predicted`, a list, and a whole step of the run by a feasible plan: where blocks are not as it says,
/// it is no longer exact, on the host or on the device. `execution`: of the plan, with the device's lanes
/// where it has any. No weight changes. Errors: those of blocks.
void try_out(const PlanInput& input, const ExecutionPlan& execution, std::span<const int64_t> predicted,
             MemoryPlan& plan);

/// By how much a stated budget is above the need of this process: floors of processes differ. Up to 1.4 MiB
/// was seen.
constexpr int64_t kFloorSpread = 2 * kMiB;
/// A budget that works for any process, where one that needs `budget` bytes was seen: their floors differ,
/// with the rooms of BLAS at start.
int64_t stated_budget(int64_t budget);

/// The execution of a feasible plan. Errors: BudgetTooSmall, which names the smallest budget that works.
ExecutionPlan require_feasible(const MemoryPlan& plan);

}  // namespace plimsoll
