#pragma once

#include <cstdint>

namespace plimsoll {

/// Counters of a row cache since its construction.
struct RowCounters {
  int64_t hits = 0;           ///< Rows that were in memory.
  int64_t misses = 0;         ///< Rows that had to be read; a row counts once per batch.
  int64_t bytes_useful = 0;   ///< Bytes of the missed rows.
  int64_t bytes_read = 0;     ///< Bytes of all reads, including gaps between rows.
  int64_t bytes_written = 0;  ///< Bytes written to a scratch file (PackedBatches).
  double waited_seconds = 0;  ///< Time that callers waited for the disk.
};

inline RowCounters sum(RowCounters a, const RowCounters& b) {
  a.hits += b.hits;
  a.misses += b.misses;
  a.bytes_useful += b.bytes_useful;
  a.bytes_read += b.bytes_read;
  a.bytes_written += b.bytes_written;
  a.waited_seconds += b.waited_seconds;
  return a;
}

}  // namespace plimsoll
