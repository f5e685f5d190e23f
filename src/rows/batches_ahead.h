#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "rows/scanned_rows.h"

namespace plimsoll {

/// A queue of batches that are known before they are needed, so that their rows can be read in advance.
/// `Batch` has rows(), distinct row numbers, and bytes(), its own memory in bytes; both must be constant.
/// Only read() may be called while another call runs.
template <typename Batch>
class BatchesAhead {
 public:
  struct Options {
    /// Approximate maximum bytes of the queued batches, not counting their rows.
    int64_t bytes = 0;
    /// extend() adds nothing once more batches than this are queued.
    int64_t batches = 0;
  };
  struct KnownBatch {
    Batch batch;
    bool planned = false;  ///< Whether ScannedRows::plan() has requested its rows.
  };

  /// `rows` must outlive this object. If it is null, no rows are read ahead, and read() must not be called.
  BatchesAhead(ScannedRows* rows, const Options& options) : rows_(rows), options_(options) {}
  ~BatchesAhead() { clear(); }
  BatchesAhead(const BatchesAhead&) = delete;
  BatchesAhead& operator=(const BatchesAhead&) = delete;

  bool empty() const { return queue_.empty(); }
  int64_t size() const { return std::ssize(queue_); }
  const Batch& front() const { return queue_.front().batch; }
  const Batch& back() const { return queue_.back().batch; }

  void add(Batch batch) {
    bytes_ += batch.bytes();
    queue_.push_back({std::move(batch)});
  }
  /// Plans the rows of queued batches in order, and adds batches while Options permits it and the rows of all
  /// earlier batches are planned. next() returns the batch after back(), or nullopt. Adds only a few batches
  /// per call, so that the first batch does not wait for many others. Exceptions from next() end the call and
  /// are otherwise ignored; the caller gets them again when it requests that batch itself.
  template <typename Next>
  void extend(const Next& next) {
    try {
      for (int more = 0;
           plan() && more < kMoreAtOnce && size() <= options_.batches && bytes_ < options_.bytes; ++more) {
        std::optional<Batch> batch = next();
        if (!batch) return;
        add(std::move(*batch));
      }
    } catch (const std::exception&) {
    }
  }
  /// Sets Options::batches.
  void limit(int64_t batches) { options_.batches = batches; }

  /// Removes and returns the first batch; the queue must not be empty. If the batch is planned, read() or
  /// drop() must be called for it.
  KnownBatch pop() {
    KnownBatch first = std::move(queue_.front());
    queue_.pop_front();
    bytes_ -= first.batch.bytes();
    return first;
  }
  /// Reads the rows, f32 [rows, F], of a batch that pop() returned. Afterwards the batch is no longer
  /// planned, even after an error. Any number of threads may call it at once. Errors: those of
  /// ScannedRows::read().
  void read(const KnownBatch& known, float* out) {
    if (known.planned)
      rows_->take(known.batch.rows(), out);
    else
      rows_->read(known.batch.rows(), out);
  }
  /// Ends a batch that pop() returned without reading its rows. Does nothing if it is not planned.
  void drop(const KnownBatch& known) {
    if (known.planned) rows_->drop(known.batch.rows());
  }
  /// Drops all batches.
  void clear() {
    while (!empty()) drop(pop());
  }

 private:
  static constexpr int kMoreAtOnce = 4;

  // Plans the rows of the batches in order, as long as there is space. Returns whether all batches are
  // planned.
  bool plan() {
    if (rows_ == nullptr) return false;
    for (KnownBatch& known : queue_) {
      if (!known.planned) known.planned = rows_->plan(known.batch.rows());
      if (!known.planned) return false;
    }
    return true;
  }

  ScannedRows* rows_;
  Options options_;
  std::deque<KnownBatch> queue_;
  int64_t bytes_ = 0;  // Sum of bytes() in queue_.
};

}  // namespace plimsoll
