#pragma once

#include <cstdint>

#include "rows/scanned_rows.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// Divides the bytes that the budget leaves in addition to `kept`, minus an eighth, among the caches for
/// evaluating one giant graph. All edges are cached if they take at most a quarter of that; else edges are
/// read when needed. Rows of features get the rest. If all rows fit, they are read now, or without
/// `reads_all` when needed, and the function returns 0; otherwise it returns the bytes for samples read
/// ahead, an eighth of the rows' share. Errors: BudgetExceeded.
int64_t share_caches(DiskTopology& topology, ScannedRows& rows, int64_t kept, bool reads_all = true);

}  // namespace plimsoll
