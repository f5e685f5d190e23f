#pragma once

#include <cstdint>

#include "rows/scanned_rows.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// Gives what the budget leaves beside `kept` bytes, but for an eighth, to the caches of who judges one giant
/// graph: to all of its edges, if they take no more than a quarter of that, and to rows of features. Else
/// edges are read as they are wanted.
/// If all rows have room they are read now, and it returns 0; else bytes for samples of what comes, an eighth
/// of what rows would have. Errors: BudgetExceeded.
int64_t share_caches(DiskTopology& topology, ScannedRows& rows, int64_t kept);

}  // namespace plimsoll
