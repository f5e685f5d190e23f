#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/row_reader.h"
#include "rows/read_ahead.h"
#include "rows/row_counters.h"
#include "rows/row_plan.h"

namespace plimsoll {

/// Rows of a file in memory, as many as a budget allows; the others are read. What is evicted is what is used
/// last of all that is planned, or of the rest what was used least recently; a missed row that would be the
/// next to go does not enter. While the caller works on a batch, misses of the
/// next planned one are read.
///
/// fewest_misses is a bound: when the last batch of what was once planned is over, all that is planned then
/// is a window, and no cache of this size that holds what this one holds could have fewer misses in it
/// (rows/row_plan.h). In a plan that goes on, the own misses are at least as many; in one that is all known
/// from the start they are as many. (Rows that gather() brings in between are no part of it.)
///
/// Not thread-safe: one call at a time. Rows are the same bytes for every budget and plan.
class RowCache {
 public:
  struct Options {
    int64_t bytes = 0;        ///< of rows and what is kept of them (Tag::cache), all taken at once
    int64_t ahead_bytes = 0;  ///< of these, for rows that are read ahead; 0: none are
  };
  /// The reader has to outlive the cache, which alone uses it. Beside `bytes` there are the plan and 20 bytes
  /// for each miss of the batch with most. Errors: BudgetExceeded (Tag::cache); UsageError if no row fits.
  RowCache(RowReader& reader, const Options& options);

  /// Appends a batch to what is planned; its rows are all different. Errors: BudgetExceeded, with nothing
  /// changed: so far the budget allows to plan; Failure (a row twice).
  void plan(std::span<const int64_t> rows);
  /// Ends the plan: of the rows that are there, none is known to be wanted. In fewest_misses the window that
  /// had begun stays counted.
  void forget_plan();
  /// Batches that are planned and not yet gathered.
  int64_t planned() const { return static_cast<int64_t>(plan_.batches().size()); }

  /// Fills in the rows of the next planned batch, in its order: [rows, row_bytes]. Errors: those of
  /// RowReader::read(), the batch then being over; Failure if none is planned.
  void gather_planned(std::byte* out);
  /// The same as gather_planned() for rows that nobody planned; they may occur more than once.
  void gather(std::span<const int64_t> rows, std::byte* out);

  int64_t slots() const { return slots_; }  ///< how many rows it holds at most
  RowCounters counters();

 private:
  void gather(std::span<const int64_t> rows, const int32_t* next_use, std::byte* out);
  void insert(int64_t row, int32_t next_use, const std::byte* data);
  void begin_window();
  void begin_ahead();
  std::byte* data_of(int32_t slot) { return rows_.data() + slot * row_bytes_; }

  RowReader& reader_;
  int64_t row_bytes_;
  int64_t slots_;
  Vector<std::byte, Tag::cache> rows_;  // [slots, row_bytes]
  Vector<int64_t, Tag::cache> row_of_;  // [slots]
  RowTable<int32_t> slot_of_;
  NextUseOrder order_;
  int32_t used_ = 0;  // slots that hold a row; the first ones
  RowPlan plan_;
  int32_t window_end_ = 0;  // the first batch after the window of fewest_misses
  Vector<WantedRow, Tag::cache> missed_;
  Vector<int32_t, Tag::cache> missed_at_;  // where in the batch they are
  RowCounters counters_;
  ReadAhead ahead_;  // the last: its thread ends before what it works on
};

}  // namespace plimsoll
