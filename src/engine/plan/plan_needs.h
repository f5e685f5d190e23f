#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/plan/plan_input.h"
#include "engine/plan/planned_work.h"

namespace plimsoll {

/// The kinds of work of a run. The blocks of each kind are measured.
struct AllWork {
  const PlannedWork* training = nullptr;  ///< Null if nothing is trained.
  const PlannedWork& prediction;
  const PlannedWork* teaching = nullptr;  ///< Null without an OffloadedTeacher.

  /// The kind of work whose blocks determine the speed.
  const PlannedWork& main() const { return training != nullptr ? *training : prediction; }
  /// The maximum of each size over all blocks that a worker reads.
  BlockSize largest_block() const;
};

/// The bytes of a plan, and how the slab depends on the number of blocks in flight.
struct PlanNeeds {
  int64_t worst = 0;      ///< Bytes of a range that is sufficient for any block.
  int64_t mean = 0;       ///< Mean bytes of the ranges of blocks.
  int64_t graphs = 0;     ///< Bytes that a worker needs in the ledger: the graphs of a block, and the
                          ///< positions of its pieces.
  int64_t heap = 0;       ///< Bytes that a worker needs outside the ledger.
  int64_t objects = 0;    ///< Bytes outside the ledger that do not depend on the blocks in flight.
  int64_t gradients = 0;  ///< Sums over lanes.
  int64_t exchange = 0;   ///< Memory for the exchange between ranks.
  int64_t lists = 0;      ///< Lists of graphs, and memory that the caller allocates later.
  int64_t fixed = 0;      ///< Everything that does not depend on the blocks in flight.
  int64_t cap = 0;        ///< Cap of the ledger.

  /// Bytes left for the slab with `blocks` blocks in flight.
  int64_t slab(int blocks) const { return cap - fixed - objects - blocks * (graphs + heap); }
  /// Bytes of the slab that `blocks` blocks in flight need.
  int64_t ranges(int blocks) const { return worst + (blocks - 1) * std::min(mean, worst); }
  /// Bytes that `blocks` blocks in flight need, in the ledger and on the heap.
  int64_t with(int blocks) const { return fixed + objects + blocks * (graphs + heap) + ranges(blocks); }
};

/// Returns the needs of the work before BLAS buffers are known: `heap` has only the slack.
PlanNeeds needs_of(const PlanInput& input, const AllWork& work);

}  // namespace plimsoll
