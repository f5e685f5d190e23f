#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <span>
#include <stop_token>
#include <thread>

#include "base/mutex.h"
#include "io/row_reader.h"
#include "memory/mapped_bytes.h"
#include "rows/feature_file.h"
#include "rows/row_copy.h"
#include "rows/row_counters.h"
#include "rows/row_table.h"
#include "rows/use_order.h"

namespace plimsoll {

/// Reads rows of a file that does not fit into memory, for batches that are known some time in advance. A
/// thread reads the wanted rows in file order, in one round after the other, like an elevator. If many rows
/// are wanted at a time, a round is one pass over the file at the speed of long reads instead of scattered
/// reads (Zukowski et al., "Cooperative scans", VLDB 2007). A row that a planned batch wants stays until that
/// batch ends, so it is read once for all batches planned at the same time. Of all other rows, the least used
/// are evicted first. If all rows fit, each has its own slot, and rows in memory are copied without a lock.
///
/// Any number of threads may call it at once. The result does not depend on sizes or on the order of calls.
class SharedScan {
 public:
  /// `bytes` (Tag::cache) is the total memory, at least min_bytes(), and is allocated at once. Errors: those
  /// of RowReader, BudgetExceeded, ThreadRefused, UsageError (fewer bytes).
  SharedScan(const std::filesystem::path& path, const RowLayout& layout, int64_t bytes)
      : SharedScan(path, layout, RowCopy(layout.row_bytes), bytes) {}
  /// Reads feature rows; gather() returns them as f32.
  SharedScan(const FeatureFile& rows, int64_t bytes)
      : SharedScan(rows.path, rows.layout(), RowCopy(rows.values), bytes) {}
  /// Abandons planned batches.
  ~SharedScan();
  SharedScan(const SharedScan&) = delete;
  SharedScan& operator=(const SharedScan&) = delete;

  /// min_bytes() returns the smallest possible size, and max_bytes() the size that holds all rows. A larger
  /// size has no advantage.
  static int64_t min_bytes(const RowLayout& layout);
  static int64_t max_bytes(const RowLayout& layout);
  /// Rows at most this many bytes apart are read together. The value suits both scattered and sequential
  /// reading; measured in bench/results/giant.md.
  static constexpr int64_t kLongestGap = 8 * 1024;
  /// Approximate overhead per row in bytes.
  static constexpr int64_t kRowBytes = 48;
  /// Maximum number of rows in memory.
  int64_t slots() const { return slots_; }

  /// Requests all rows, if all of them fit; otherwise does nothing. Does not wait for them.
  void read_all();
  /// Sets how often each row is used, [rows], counted over some hundred batches (use_level()). The array
  /// belongs to the caller and must outlive this object. If all rows fit, this requests all rows that are
  /// used at least once.
  void set_uses(std::span<const uint8_t> uses);

  /// Requests these rows, which must be distinct, and keeps them for a batch. Returns false, with nothing
  /// changed, if there is no space for them in addition to the rows of other batches.
  bool plan(std::span<const int64_t> rows);
  /// Copies the rows of a planned batch to `out`, [rows, row_bytes] or f32 [rows, F]. Waits for rows that
  /// have not been read yet. Errors: those of RowReader::read(), after which it may be called again; Failure
  /// if a row is not planned.
  void gather(std::span<const int64_t> rows, std::byte* out);
  /// Ends a planned batch, read or not. Errors: Failure if a row is not planned.
  void end(std::span<const int64_t> rows);

  RowCounters counters() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : uint8_t { absent, wanted, reading, present };
  struct Slot {
    int64_t row = 0;
    // Number of batches that want the row. If all rows fit: 1 once any batch has wanted it.
    uint32_t batches = 0;
    State state = State::absent;
  };
  static constexpr int64_t kSlotBytes = sizeof(Slot) + sizeof(int32_t) + UseOrder::kSlotBytes;
  SharedScan(const std::filesystem::path& path, const RowLayout& layout, RowCopy copy, int64_t bytes);
  static int64_t bytes_for(const RowLayout& layout, int64_t slots);
  static int64_t slots_for(const RowLayout& layout, int64_t bytes);

  Slot& slot(int32_t number) { return slot_[static_cast<size_t>(number)]; }
  std::byte* data_of(int32_t number) { return rows_.data() + number * reader_.layout().row_bytes; }
  // Returns the slot of a row, or kNone.
  int32_t find(int64_t row) PLIMSOLL_REQUIRES(mutex_);
  // May be called without the lock if all rows fit.
  State state(int32_t number) { return std::atomic_ref(slot(number).state).load(std::memory_order_acquire); }
  void set_state(int32_t number, State state) {
    std::atomic_ref(slot(number).state).store(state, std::memory_order_release);
  }
  void find_all(std::span<const int64_t> rows, std::span<const std::byte*> from);
  void find_fitting(std::span<const int64_t> rows, std::span<const std::byte*> from);
  void wait_for(int32_t number) PLIMSOLL_REQUIRES(mutex_);
  void want(int64_t row) PLIMSOLL_REQUIRES(mutex_);
  void will_read(int32_t number, int64_t row) PLIMSOLL_REQUIRES(mutex_);
  void release(int32_t number) PLIMSOLL_REQUIRES(mutex_);
  int32_t take_slot() PLIMSOLL_REQUIRES(mutex_);
  bool has_work() const PLIMSOLL_REQUIRES(mutex_);
  void collect() PLIMSOLL_REQUIRES(mutex_);
  void run_reader(const std::stop_token& stop);

  static constexpr int32_t kNone = -1;

  RowReader reader_;  // Used only by the thread.
  RowCopy copy_;
  int64_t slots_;
  bool all_fit_;    // Slot i holds row i.
  int64_t enough_;  // Number of wanted rows at which a round starts.

  mutable Mutex mutex_;
  StoppableConditionVariable changed_;
  // [slots, row_bytes]; the lock is needed only for rows that are neither present nor being read.
  MappedBytes rows_;
  // [slots]; the lock is needed, except for state() if all rows fit.
  Vector<Slot, Tag::cache> slot_;
  Vector<int32_t, Tag::cache> free_ PLIMSOLL_GUARDED_BY(mutex_);  // Slots without a row.
  RowTable<int32_t> slot_of_ PLIMSOLL_GUARDED_BY(mutex_);         // Slot of each row that has one.
  UseOrder unwanted_ PLIMSOLL_GUARDED_BY(mutex_);  // Slots of rows in memory that no batch wants.
  int64_t unwanted_count_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  // A bit for each row of the file that is to be read.
  Vector<uint64_t, Tag::cache> is_wanted_ PLIMSOLL_GUARDED_BY(mutex_);
  int64_t wanted_ PLIMSOLL_GUARDED_BY(mutex_) = 0;    // Number of bits set in is_wanted_.
  int64_t position_ PLIMSOLL_GUARDED_BY(mutex_) = 0;  // Row at which reading continues.
  int64_t left_ PLIMSOLL_GUARDED_BY(mutex_) = 0;      // Rows of the file that the round still has to visit.
  int waiting_ PLIMSOLL_GUARDED_BY(mutex_) = 0;       // Number of calls of gather() that wait for rows.
  Clock::time_point waiting_since_ PLIMSOLL_GUARDED_BY(mutex_);  // Start of the first of these waits.
  Vector<WantedRow, Tag::cache> piece_;                          // Rows being read. Used only by the thread.
  // Error of the last read, until a waiting call throws it.
  std::exception_ptr error_ PLIMSOLL_GUARDED_BY(mutex_);
  // Whether the last read failed. If so, the next read starts only when a call waits.
  bool failed_ PLIMSOLL_GUARDED_BY(mutex_) = false;
  std::span<const uint8_t> uses_ PLIMSOLL_GUARDED_BY(mutex_);
  RowCounters counters_ PLIMSOLL_GUARDED_BY(mutex_);
  std::jthread thread_;  // The last member, so that it ends before the data it uses.
};

}  // namespace plimsoll
