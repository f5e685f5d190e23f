#pragma once

#include <string>

#include "base/json.h"
#include "rows/row_counters.h"

namespace plimsoll {

/// How rows were read in some time, such as an epoch.
struct Reading {
  RowCounters rows;
  double seconds = 0;
  double stalled_seconds = 0;  ///< that a worker waited for blocks, on average
  double predicted_read = 0;   ///< bytes, of these epochs as wholes (BlockSource::reading_cost)
  double predicted_written = 0;
};

/// What a source's cache did between two looks at it.
RowCounters rows_between(const RowCounters& before, const RowCounters& after);
/// Of two stretches of time.
Reading sum(const Reading& a, const Reading& b);

/// For the journal: {rows, misses, miss_ratio, bytes_read, bytes_written, bytes_useful,
/// predicted_bytes_read, predicted_bytes_written, waited_s, stalled_s, seconds, binds}.
Json reading_json(const Reading& reading);
/// One sentence: what came from memory, what was read for the rest, and what binds.
std::string reading_in_words(const Reading& reading);

}  // namespace plimsoll
