#pragma once

#include <string>

#include "base/json.h"
#include "rows/row_counters.h"

namespace plimsoll {

/// How rows were read during some period, such as an epoch.
struct Reading {
  RowCounters rows;
  double seconds = 0;          ///< Length of the period.
  double stalled_seconds = 0;  ///< Mean time that a worker waited for blocks.
  double predicted_read = 0;   ///< Bytes that these epochs were predicted to read, as whole epochs
                               ///< (BlockSource::reading_cost).
  double predicted_written = 0;
};

/// The difference between two samples of a source's counters.
RowCounters rows_between(const RowCounters& before, const RowCounters& after);
/// Returns the sum of two periods.
Reading sum(const Reading& a, const Reading& b);

/// Returns an entry for the journal: {rows, misses, miss_ratio, bytes_read, bytes_written, bytes_useful,
/// predicted_bytes_read, predicted_bytes_written, waited_s, stalled_s, seconds, binds}.
Json reading_json(const Reading& reading);
/// Describes in one sentence which rows were in memory, how much was read for the other rows, and the
/// bottleneck.
std::string reading_in_words(const Reading& reading);

}  // namespace plimsoll
