#pragma once

#include <cstdint>

#include "sample/partition/stream_partition.h"
#include "sample/topology/topology.h"

namespace plimsoll {

struct MetisOptions {
  int64_t parts = 0;
  double slack =
      0.1;  ///< a part aims at no more than (1 + slack) x nodes / parts nodes, which is not promised
};

/// The part of each node, 0 .. parts-1, such that few edges lead from one part to another, for graphs that
/// fit into memory several times; stream_partition() takes any other. The multilevel k-way partitioning of
/// METIS 5.1: Karypis and Kumar, "A fast and high quality multilevel scheme for partitioning irregular
/// graphs", SIAM J. Sci. Comput. 20(1), 1998. It sees the graph without directions and self-loops, and
/// cut_edges() is what it makes small: where several edges lead between two nodes, in either direction, each
/// counts. A part may be empty.
///
/// The ledger is charged for the symmetric graph (symmetric_graph()) and, before METIS begins, with 64 bytes
/// a node and an entry of it and 1 MiB: METIS has been measured to take 17 to 60 (docs/sampling.md). The
/// kernel refuses it more, and it begins again with twice as much. The same on every machine; METIS runs in a
/// process of its own (run_metis()). Errors: UsageError for a number of parts that is not 1 .. nodes, or
/// above 2^26, a slack below 0, more than 2^30 nodes or 2^29 edges; those of the topology; BudgetExceeded;
/// Failure.
Parts metis_partition(const Topology& topology, const MetisOptions& options);

}  // namespace plimsoll
