#pragma once

#include <cstdint>

namespace plimsoll {

/// What a cache has done so far.
struct RowCounters {
  int64_t hits = 0;           ///< rows that were in memory
  int64_t misses = 0;         ///< rows that had to be read, each once a batch
  int64_t bytes_useful = 0;   ///< of rows that were missed
  int64_t bytes_read = 0;     ///< to have them
  int64_t bytes_written = 0;  ///< to have them sooner (SpilledFeatures)
  double waited_seconds = 0;  ///< for the disk, by who asked for rows
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
