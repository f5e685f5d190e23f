#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>

#include "io/row_reader.h"
#include "memory/mapped_bytes.h"
#include "rows/feature_file.h"
#include "rows/row_copy.h"
#include "rows/row_counters.h"
#include "rows/row_table.h"
#include "rows/use_order.h"

namespace plimsoll {

/// Rows of a file that does not fit into memory, for batches that are known some time ahead. A thread reads
/// what they want in the order of the file, round after round, as a lift stops where somebody waits: where
/// many rows are wanted at a time, a round is one pass over the file, at the speed of long reads and not of
/// scattered ones (Zukowski et al., "Cooperative scans", VLDB 2007). A row that a planned batch wants stays
/// until that batch ends, and so is read once for all batches that are planned at a time; of the others those
/// go first that are used least.
/// Where there is room for all rows, each has its place, and what is there is copied without a lock.
///
/// Any number of threads may call it at once. Rows are the same bytes for every size and order of calls.
class SharedScan {
 public:
  /// `bytes` (Tag::cache) are for everything, and taken at once: min_bytes() or more.
  /// Errors: those of RowReader, BudgetExceeded, ThreadRefused, UsageError (fewer bytes).
  SharedScan(const std::filesystem::path& path, const RowLayout& layout, int64_t bytes)
      : SharedScan(path, layout, RowCopy(layout.row_bytes), bytes) {}
  /// Rows of features, which gather() gives as f32.
  SharedScan(const FeatureFile& rows, int64_t bytes)
      : SharedScan(rows.path, rows.layout(), RowCopy(rows.values), bytes) {}
  /// Batches that are planned are given up.
  ~SharedScan();
  SharedScan(const SharedScan&) = delete;
  SharedScan& operator=(const SharedScan&) = delete;

  /// With room for some rows, and with room for all: more is of no use.
  static int64_t min_bytes(const RowLayout& layout);
  static int64_t max_bytes(const RowLayout& layout);
  /// Rows no farther apart than this are read together: pieces with which a disk gives the most of either
  /// kind of reading; measured in bench/results/giant.md.
  static constexpr int64_t kLongestGap = 8 * 1024;
  /// What a row takes beside its bytes, roughly.
  static constexpr int64_t kRowBytes = 48;
  /// Rows that it has room for.
  int64_t slots() const { return slots_; }

  /// Where all rows fit they are read at once.
  void read_all();
  /// How often each row is used, [rows] in some hundred batches (use_level); the caller's, who keeps it as
  /// long as this lives. Where all rows fit, those that are used at all are read at once.
  void set_uses(std::span<const uint8_t> uses);

  /// Has these rows, all different, read and kept for a batch; false if there is no room for them beside
  /// those of other batches, with nothing changed.
  bool plan(std::span<const int64_t> rows);
  /// Copies the rows of a planned batch, [rows, row_bytes] or f32 [rows, F], and waits for those that are
  /// still to be read. Errors: those of RowReader::read(); it can be called again then.
  void gather(std::span<const int64_t> rows, std::byte* out);
  /// A planned batch wants its rows no more.
  void end(std::span<const int64_t> rows);

  RowCounters counters() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : uint8_t { absent, wanted, reading, there };
  struct Slot {
    int64_t row = 0;
    uint32_t batches = 0;  // that want it; where all rows fit, 1 once any did
    State state = State::absent;
  };
  static constexpr int64_t kSlotBytes = sizeof(Slot) + sizeof(int32_t) + UseOrder::kSlotBytes;
  SharedScan(const std::filesystem::path& path, const RowLayout& layout, RowCopy copy, int64_t bytes);
  static int64_t bytes_for(const RowLayout& layout, int64_t slots);
  static int64_t slots_for(const RowLayout& layout, int64_t bytes);

  Slot& slot(int32_t number) { return slot_[static_cast<size_t>(number)]; }
  std::byte* data_of(int32_t number) { return rows_.data() + number * reader_.layout().row_bytes; }
  // The slot of a row, or kNone.
  int32_t find(int64_t row);
  // Is read without the lock where all rows fit.
  State state(int32_t number) { return std::atomic_ref(slot(number).state).load(std::memory_order_acquire); }
  void set_state(int32_t number, State state) {
    std::atomic_ref(slot(number).state).store(state, std::memory_order_release);
  }
  void find_all(std::span<const int64_t> rows, std::span<const std::byte*> from);
  void wait_for(int32_t number, std::unique_lock<std::mutex>& lock);
  void want(int64_t row);
  void will_read(int32_t number, int64_t row);
  void release(int32_t number);
  int32_t take_slot();
  bool has_work() const;
  void collect();
  void read_on(const std::stop_token& stop);

  static constexpr int32_t kNone = -1;

  RowReader reader_;  // the thread's
  RowCopy copy_;
  int64_t slots_;
  bool all_fit_;    // slot i is that of row i
  int64_t enough_;  // wanted rows that make a round worth it

  mutable std::mutex mutex_;  // guards what follows, but for rows that are there and for those being read
  std::condition_variable_any changed_;
  MappedBytes rows_;                  // [slots, row_bytes]
  Vector<Slot, Tag::cache> slot_;     // [slots]
  Vector<int32_t, Tag::cache> free_;  // slots of no row
  RowTable<int32_t> slot_of_;         // of rows that have one
  UseOrder unwanted_;                 // slots of rows that are there and that no batch wants
  int64_t unwanted_count_ = 0;
  Vector<uint64_t, Tag::cache> is_wanted_;  // a bit for each row of the file that is to be read
  int64_t wanted_ = 0;                      // of these
  int64_t position_ = 0;                    // the row where reading goes on
  int64_t left_ = 0;                        // rows of the file until a round is over
  int waiting_ = 0;                         // calls of gather() that wait for rows
  Clock::time_point waiting_since_;         // the first of them
  Vector<WantedRow, Tag::cache> piece_;     // what is being read
  std::exception_ptr error_;                // of the last read, until a waiting call takes it
  bool failed_ = false;  // the last read: the next is made for a call that waits, not ahead
  std::span<const uint8_t> uses_;
  RowCounters counters_;
  std::jthread thread_;  // the last: it ends before what it works on
};

}  // namespace plimsoll
