#pragma once

#include <algorithm>
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

/// The memory that a run needs, and how it is divided. All sizes are in bytes.
struct MemoryPlan {
  ExecutionPlan execution;
  std::shared_ptr<const BlockPlan> training;  ///< The same object as execution.training.
  std::shared_ptr<const BlockPlan> prediction;
  bool feasible = false;
  /// Bytes of the budget that are used: floor, slack, `heap` and the maximum that the ledger will hold, or
  /// the peak of planning itself if that is larger.
  int64_t peak = 0;
  /// Minimum budget with which the run works as planned, with one block in flight.
  int64_t min_budget = 0;
  /// Whether all sizes are exact. If not, sizes may be too large or too small.
  bool exact = true;
  std::string why_inexact;  ///< The reason why `exact` is false; otherwise empty.
  /// Maximum bytes in the ledger, by purpose.
  std::vector<std::pair<std::string, int64_t>> parts;

  struct Block {
    BlockSize size;
    int64_t peak_bytes = 0;   ///< Maximum bytes that tensors request at a time.
    int64_t range_bytes = 0;  ///< Bytes of the block's range in the slab.
    std::string operation;    ///< The operation at the peak.
    bool training = true;
    BlockTerms terms = {};                       ///< The terms that determine the block's sizes.
    std::shared_ptr<const BlockPlan> plan = {};  ///< The plan of the block's kind of work; null if there is
                                                 ///< no block.
  };
  Block worst;
  std::string recompute_note;  ///< For gradient_checkpointing auto: what is gained by recomputing layers.
  /// Peak of the block that was run to verify the tape; 0 if none was run.
  int64_t verified_peak_bytes = 0;

  struct Graph {
    int64_t graph, nodes, edges, bytes;
  };
  int64_t max_graph_bytes = 0;   ///< Maximum bytes that one graph may need in the slab.
  std::vector<Graph> too_large;  ///< Graphs that do not fit even alone, largest first; at most 16.

  struct Speed {
    int64_t budget;
    int blocks_in_flight;
    bool recompute;
    double graphs_per_s;  ///< Expected speed.
  };
  std::vector<Speed> speed;
  /// The cost of an epoch with a share of the data in memory; only for a source with a cache, such as one
  /// giant graph.
  struct Reading {
    double share;                ///< Share of the features (as f32) and edges that fits in the cache.
    int64_t budget;              ///< Budget for this share, with the number of blocks in flight of this plan.
    double seconds;              ///< Computing time without waiting for data; 0: unknown.
    double read = 0;             ///< Bytes read per epoch, once samples have been made.
    double written = 0;          ///< Bytes written per epoch.
    double scattered_reads = 0;  ///< Scattered reads per epoch.
  };
  std::vector<Reading> reading;
  std::optional<Reading> reading_of_run;  ///< The same for the cache of this plan, with share 0.
  int64_t epochs = 0;                     ///< Maximum number of epochs of the run.
  std::optional<StartUpCost> start_up;    ///< Cost of computing the sizes of all blocks.
  int64_t sampled_epochs = 0;             ///< Number of epochs whose blocks were sampled for these sizes.
  double seconds_of_samples = 0;          ///< Seconds to sample the blocks of a later epoch, as start_up did.
  int64_t training_graphs = 0, validation_graphs = 0;  ///< Number of graphs in an epoch, from which the hours
                                                       ///< at a stated speed are computed.
  int ranks = 1;
  int64_t parameter_bytes = 0;  ///< Bytes of all parameters; set if there are several ranks.
  int64_t bytes_sent = 0;       ///< Bytes that a rank sends to other ranks in a step, without losses and the
                                ///< norm.
  int64_t record_bytes_sent = 0;      ///< Bytes of losses and statistics that it sends in a step.
  int64_t validation_bytes_sent = 0;  ///< Bytes that it sends in a validation.
  int64_t steps = 0;                  ///< Steps of an epoch.
  int64_t blocks_planned = 0;         ///< Number of blocks whose exact size is known.
  bool all_blocks_known = true;
  double seconds = 0;  ///< Duration of planning.
  /// A table of embeddings that is on a disk.
  struct StoredTable {
    int64_t rows = 0;
    int64_t slots = 0;           ///< Number of rows that are in memory.
    int64_t file_bytes = 0;      ///< Bytes of its file in the folder of the run.
    int64_t reserved_bytes = 0;  ///< The part of file_bytes that the model file gets when the run ends.
  };
  std::optional<StoredTable> table;  ///< Set if the run has such a table.
  /// The smallest budgets with a table of embeddings in each place. Nullopt: the recipe does not allow the
  /// place, or the process has too little memory to plan it.
  struct TableBudgets {
    std::optional<int64_t> in_memory = {}, on_disk = {};
  };
  TableBudgets table_budgets = {};  ///< If any is set, the smallest of them is min_budget.
  /// Sets table_budgets, and min_budget if any is set.
  void set_table_budgets(const TableBudgets& budgets) {
    table_budgets = budgets;
    if (budgets.in_memory || budgets.on_disk)
      min_budget = std::min(budgets.in_memory.value_or(INT64_MAX), budgets.on_disk.value_or(INT64_MAX));
  }
  std::optional<DevicePlan> device;  ///< Set if PlanInput has a device.
  int64_t heap = 0;  ///< The part of `peak` that is in neither floor nor ledger, without kHeapSlack.
};

}  // namespace plimsoll
