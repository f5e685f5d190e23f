#pragma once

#include <span>

#include "base/units.h"
#include "sample/batches.h"
#include "train/block_engine.h"

namespace plimsoll {

/// Runs the largest block that `graphs` can make once, before any other, and returns how many of `threads`
/// blocks of that size fit in what the budget leaves: how many may be in flight at once. The budget decides
/// that number, and with it the speed, and nothing else. `training`: forward and backward; else forward
/// alone. Errors: BudgetTooSmall when not even one fits, before anything else is done.
int blocks_in_flight(const BlockSource& source, std::span<const GraphShape> shapes, const GraphModel& model,
                     const BlockLimits& limits, std::span<const int64_t> graphs, bool training, int threads);

/// A run cannot be done within its budget. Names the block and the smallest budget that works, as far as it
/// is known.
class BudgetTooSmall : public Error {
 public:
  explicit BudgetTooSmall(const std::string& text) : Error(4, text) {}
};

/// Gives torch one intra-op thread a worker, and has torch and its libraries set up, on `threads` threads,
/// what they keep for as long as they live, so that the floor of a budget that is measured afterwards holds
/// it.
void warm_up_torch(int threads);

/// What malloc may lose between pieces of tensors, beyond what the ledger counts: measured at up to 3.4 MiB
/// with one thread and 10 MiB with four, on blocks of 30 MiB. Set aside from the budget.
constexpr int64_t heap_slack(int threads) {
  return (2 + 3 * int64_t{threads}) * kMiB;
}

}  // namespace plimsoll
