#pragma once

#include <span>

#include "base/units.h"
#include "sample/batches.h"
#include "train/block_engine.h"
#include "train/split.h"

namespace plimsoll {

/// What of a run's blocks fits in what the budget leaves: runs the largest block that the training graphs can
/// make once, forward and backward, and the largest of validation forward, and divides. The budget decides
/// the flight, and with it the speed, and nothing else. Errors: BudgetTooSmall when not even one block fits,
/// before anything else is done. With `recompute` layers run again in backward.
Flight plan_flight(const BlockSource& source, std::span<const GraphShape> shapes, const Objective& objective,
                   const BlockLimits& limits, const TrainingSplit& split, int threads, int64_t prefetch,
                   bool recompute = false);
/// The same for prediction alone.
Flight plan_prediction(const BlockSource& source, std::span<const GraphShape> shapes,
                       const Objective& objective, const BlockLimits& limits, std::span<const int64_t> graphs,
                       int threads, int64_t prefetch);

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

/// What the process holds beyond floor and ledger: matrix products' own buffers, torch's nodes of the graph
/// of gradients, and what malloc loses between pieces. Measured at up to 2.2, 3.2 and 7.3 MiB with one, two
/// and four threads, on a model of 343,000 parameters. Set aside from the budget.
constexpr int64_t heap_slack(int threads) {
  return 2 * kMiB + int64_t{threads} * kMiB * 3 / 2;
}

}  // namespace plimsoll
