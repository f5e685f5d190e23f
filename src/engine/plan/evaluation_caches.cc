#include "engine/plan/evaluation_caches.h"

#include <algorithm>

#include "memory/ledger.h"

namespace plimsoll {
namespace {

constexpr int64_t kFreeShare = 8;   // Share of the remaining memory that stays free for allocations that were
                                    // not planned.
constexpr int64_t kEdgeShare = 4;   // Share of the caches.
constexpr int64_t kAheadShare = 8;  // Share of the caches without edges, if rows are read ahead.

}  // namespace

int64_t share_caches(DiskTopology& topology, ScannedRows& rows, int64_t kept, bool reads_all) {
  topology.resize(topology.min_bytes());
  const Ledger& ledger = Ledger::process();
  const int64_t left = std::max<int64_t>(ledger.cap() - ledger.held() - kept, 0);
  int64_t caches = left - left / kFreeShare;
  // Caching only part of the edges would be of little use, because evaluation reads all of them.
  const int64_t edges = topology.max_bytes() - topology.min_bytes();
  if (edges <= caches / kEdgeShare) {
    topology.resize(topology.max_bytes());
    caches -= edges;
  }
  const bool all = caches >= rows.max_bytes();
  const int64_t ahead = all ? 0 : caches / kAheadShare;
  rows.resize(all ? rows.max_bytes() : caches - ahead);
  if (reads_all) rows.read_all();
  return ahead;
}

}  // namespace plimsoll
