#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/blocks/block_terms.h"
#include "engine/data/epoch_order.h"
#include "sample/block/batches.h"

namespace plimsoll {

/// The maximum and minimum of each term over blocks of one kind. The box is empty if `count` is 0.
struct TermBox {
  Terms lowest, highest;
  int64_t count = 0;

  /// Widens the box to contain the terms of one more block, and counts the block.
  void add(const Terms& terms);
  /// Widens the box to contain all terms between `min` and `max`. Does not change `count`.
  void widen(const Terms& min, const Terms& max);
};

/// Visits every block of `epochs` epochs, in their order, as Fit cuts them. Stops before an epoch if the
/// blocks visited so far hold `max_graphs` graphs or more. Returns whether all blocks were visited. If the
/// order is not known yet, it visits epochs of all graphs and returns false. Errors: those of `visit`;
/// Interrupted, BudgetExceeded.
bool visit_training_blocks(const EpochOrder& order, int64_t epochs, int64_t batch_size,
                           const GraphShapes& shapes, const BlockLimits& limits, int64_t max_graphs,
                           const std::function<void(std::span<const int64_t> block)>& visit);
/// Visits every block of a list, in its order. Errors: those of visit_training_blocks().
void visit_blocks(std::span<const int64_t> graphs, const GraphShapes& shapes, const BlockLimits& limits,
                  const std::function<void(std::span<const int64_t> block)>& visit);

/// Returns the corner of the limits: an upper bound of every term for any block of these graphs, in any
/// order, including graphs that are larger than the limits.
Terms corner(std::span<const int64_t> graphs, const BlockShapes& shapes, const BlockLimits& limits,
             const CollateOptions& options, bool closed);

}  // namespace plimsoll
