#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>

#include "base/mutex.h"
#include "io/row_reader.h"

namespace plimsoll {

/// A thread that reads rows of the next batch while its owner processes the current one. One thread must call
/// begin() and wait(). Between these calls, only this object may use the reader.
class ReadAhead {
 public:
  /// Allocates memory for `rows` rows (Tag::cache). `reader` must outlive this object. If `rows` is 0, no
  /// thread is started. Errors: BudgetExceeded, ThreadRefused.
  ReadAhead(RowReader& reader, int64_t rows);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Returns the maximum number of rows per read.
  int64_t room() const { return room_; }
  /// Adds a row to the next read; `index` is its index in the batch. Must not be called when full().
  void add(int64_t row, int32_t index);
  bool full() const { return static_cast<int64_t>(index_.size()) == room_; }
  /// Starts to read the added rows.
  void begin();
  /// Waits until the read is done. Errors: those of RowReader::read(); each is thrown once, after removing
  /// all rows.
  void wait();

  /// Returns the number of rows added since clear(). Rows are numbered in the order of add().
  size_t size() const { return index_.size(); }
  /// Returns the index that was given to add() for row `i`.
  int32_t index(size_t i) const { return index_[i]; }
  /// Returns the row_bytes bytes of row `i`, once wait() has returned.
  const std::byte* data(size_t i) const { return rows_.data() + i * row_bytes_; }
  /// Removes all rows. Must not be called between begin() and wait().
  void clear();

 private:
  void run();

  RowReader& reader_;
  int64_t room_;
  size_t row_bytes_;
  Vector<std::byte, Tag::cache> rows_;  // [room(), row_bytes]
  Vector<WantedRow, Tag::cache> wanted_;
  Vector<int32_t, Tag::cache> index_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool reading_ PLIMSOLL_GUARDED_BY(mutex_) = false;
  bool ending_ PLIMSOLL_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ PLIMSOLL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace plimsoll
