#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "memory/vector.h"
#include "sample/topology/topology.h"

namespace plimsoll {

struct PartitionOptions {
  int64_t parts = 0;
  double slack = 0.1;  ///< A part has up to (1 + slack) x nodes / parts nodes, rounded up.
  /// Maximum number of passes. The result is that of the last pass that cut fewer edges than the previous
  /// pass.
  int passes = 20;
  /// Called for some of the nodes whenever the lists are read. May throw to stop.
  std::function<void()> tick = [] {};
};

using Parts = Vector<int32_t, Tag::columns>;

/// Returns the part of each node, 0 .. parts-1, such that few edges connect different parts. Each node in
/// turn is assigned to the part with most of its neighbours, with a penalty for how full the part is: the
/// linear deterministic greedy of Stanton and Kliot, "Streaming graph partitioning for large distributed
/// graphs", KDD 2012. Later passes use the previous parts of neighbours that have not been assigned yet:
/// Nishimura and Ugander, "Restreaming graph partitioning", KDD 2013. If cutting the nodes into ranges cuts
/// fewer edges than the first pass, later passes start from the ranges. Neighbours are those in a node's
/// list, so only one direction of a directed graph counts.
///
/// Holds 8 bytes per node and up to 28 bytes per part. Reads lists in order, some at a time, twice per pass.
/// The result is the same on every machine. Errors: UsageError for a number of parts that is not 1 .. nodes,
/// or is 2^30 or more, a slack below 0, or fewer than 1 pass; those of the topology and of `tick`;
/// BudgetExceeded.
Parts stream_partition(const Topology& topology, const PartitionOptions& options);

/// Returns the number of edges that connect different parts. `parts` [V] has the part of each node. `tick` is
/// called for some of the nodes, and may throw to stop. Errors: those of the topology and of `tick`,
/// BudgetExceeded.
int64_t cut_edges(
    const Topology& topology, std::span<const int32_t> parts, const std::function<void()>& tick = [] {});

}  // namespace plimsoll
