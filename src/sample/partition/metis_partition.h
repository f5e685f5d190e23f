#pragma once

#include <cstdint>
#include <functional>

#include "sample/partition/stream_partition.h"
#include "sample/topology/topology.h"

namespace plimsoll {

struct MetisOptions {
  int64_t parts = 0;
  double slack = 0.1;  ///< METIS aims at no more than (1 + slack) x nodes / parts nodes per part, without
                       ///< guarantee.
  /// Called several times per second while METIS runs. May throw to stop it.
  std::function<void()> tick = [] {};
};

/// Returns the part of each node, 0 .. parts-1, such that few edges connect different parts. For graphs small
/// enough to fit into memory several times; stream_partition() handles others. Uses the multilevel k-way
/// partitioning of METIS 5.1: Karypis and Kumar, "A fast and high quality multilevel scheme for partitioning
/// irregular graphs", SIAM J. Sci. Comput. 20(1), 1998. It ignores directions and self-loops and minimises
/// cut_edges(): if several edges connect two nodes, in either direction, each counts. A part may be empty.
///
/// The ledger is charged for the symmetric graph (symmetric_graph()) and, before METIS starts, with 1 MiB
/// plus 64 bytes per node and per entry of that graph; METIS was measured to use 17 to 60 (docs/sampling.md).
/// If METIS needs more, the kernel refuses it, and METIS starts again with twice as much. The result is the
/// same on every machine. METIS runs in a separate process (run_metis()). Errors: UsageError for a number of
/// parts that is not 1 .. nodes, or above 2^26, a slack below 0, more than 2^30 nodes or 2^29 edges; those of
/// the topology and of `tick`; BudgetExceeded; Failure.
Parts metis_partition(const Topology& topology, const MetisOptions& options);

}  // namespace plimsoll
