#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/topology/topology.h"

namespace plimsoll {

struct PartitionOptions {
  int64_t parts = 0;
  double slack = 0.1;  ///< a part has up to (1 + slack) x nodes / parts nodes, rounded up
  int passes = 20;     ///< at most; the last one that cut fewer edges than the one before counts
};

using Parts = Vector<int32_t, Tag::columns>;

/// The part of each node, 0 .. parts-1, such that few edges lead from one part to another. Nodes are taken
/// one after the other and go where most of their neighbours are, less the more the part is filled: the
/// linear deterministic greedy of Stanton and Kliot, "Streaming graph partitioning for large distributed
/// graphs", KDD 2012. Later passes look at where the last one put the neighbours that are still to come:
/// Nishimura and Ugander, "Restreaming graph partitioning", KDD 2013. If ranges of nodes cut fewer edges than
/// the first pass, the others begin with those. Neighbours are those of a node's list: of a directed graph
/// one direction is looked at.
///
/// It holds 8 bytes a node and 20 bytes a part, and reads lists in order, some at a time, twice a pass. The
/// same on every machine.
/// Errors: UsageError for a number of parts that is not 1 .. nodes, a slack below 0, no pass; those of the
/// topology; BudgetExceeded.
Parts stream_partition(const Topology& topology, const PartitionOptions& options);

/// How many edges lead from one part to another. Errors: those of the topology, BudgetExceeded.
int64_t cut_edges(const Topology& topology, std::span<const int32_t> parts);

}  // namespace plimsoll
