#pragma once

#include <cstdint>

#include "rows/scanned_rows.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// Divides memory among the caches for evaluating one giant graph: the bytes below the ledger's cap that are
/// free, without `kept` bytes and an eighth of the rest. All edges are cached if they need at most a
/// quarter of the divided bytes; otherwise edges are read when needed. The remaining bytes are for feature
/// rows. If all rows fit, they are read now, or when needed if `reads_all` is false, and the function returns
/// 0. Otherwise it returns the bytes for samples made ahead, an eighth of the rows' share. Errors: those of
/// DiskTopology::resize() and ScannedRows::resize().
int64_t share_caches(DiskTopology& topology, ScannedRows& rows, int64_t kept, bool reads_all = true);

}  // namespace plimsoll
