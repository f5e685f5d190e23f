#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/blocks/block_engine.h"
#include "engine/plan/block_plan.h"
#include "engine/plan/device_plan.h"

namespace plimsoll {

/// What a run needs of memory, and what it gets. All bytes.
struct MemoryPlan {
  ExecutionPlan execution;
  std::shared_ptr<const BlockPlan> training;  ///< the same as execution's
  std::shared_ptr<const BlockPlan> prediction;
  bool feasible = false;
  int64_t peak = 0;        ///< of the budget: floor, slack and the most that will stand in the ledger
  int64_t min_budget = 0;  ///< the least with which the run works, one block at a time, as it is planned
  bool exact = true;       ///< else why_inexact says what is estimated from above
  std::string why_inexact;
  /// Of peak, by what it is for; their sum is peak, but for floor and slack.
  std::vector<std::pair<std::string, int64_t>> parts;

  struct Block {
    BlockSize size;
    int64_t peak_bytes = 0;   ///< tensors asked for at once
    int64_t range_bytes = 0;  ///< of the slab
    std::string operation;    ///< at the peak
    bool training = true;
    BlockTerms terms = {};                       ///< what its sizes follow from
    std::shared_ptr<const BlockPlan> plan = {};  ///< of its kind of work; null: there is no block
  };
  Block worst;
  std::string recompute_note;  ///< gradient_checkpointing auto: what running layers again gains
  /// Measured by the block that was run to verify the tape; 0: none was run.
  int64_t verified_peak_bytes = 0;

  struct Graph {
    int64_t graph, nodes, edges, bytes;
  };
  int64_t room_for_graph = 0;    ///< the most that one graph may need of the slab
  std::vector<Graph> too_large;  ///< graphs that do not fit alone, the largest first, 16 at most

  struct Speed {
    int64_t budget;
    int blocks_in_flight;
    bool recompute;
    double graphs_per_s;  ///< expected
  };
  std::vector<Speed> speed;
  /// Of a source with a cache, such as one giant graph: an epoch with parts of its data in memory.
  struct Reading {
    double share;     ///< of features as f32 and edges, that the cache has room for
    int64_t budget;   ///< with the blocks in flight of this plan
    double seconds;   ///< that processors take, waiting for nothing; 0: not known
    double read = 0;  ///< bytes, after samples were made
    double written = 0;
    double pieces = 0;  ///< as in ReadingCost
  };
  std::vector<Reading> reading;
  int ranks = 1;
  int64_t parameter_bytes = 0;  ///< all parameters, as numbers; where there are ranks
  int64_t bytes_sent = 0;       ///< by a rank to others in a step, but for losses and the norm
  int64_t blocks_planned = 0;   ///< whose exact size is known
  bool all_blocks_known = true;
  double seconds = 0;                ///< that planning took
  std::optional<DevicePlan> device;  ///< where PlanInput has a device
  int64_t heap = 0;                  ///< of peak, that is in neither floor nor ledger; kHeapSlack aside
};

}  // namespace plimsoll
