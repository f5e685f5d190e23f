#pragma once

#include "engine/plan/memory_plan.h"
#include "engine/plan/plan_needs.h"

namespace plimsoll {

/// Adds further details to a plan whose ledger is divided: whether it is exact, its parts and its peak, the
/// bytes that ranks send, the graphs that do not fit, and the cost of reading.
void add_details(MemoryPlan& plan, const PlanInput& input, const AllWork& work, const PlanNeeds& needs);

}  // namespace plimsoll
