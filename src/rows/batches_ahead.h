#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "rows/scanned_rows.h"

namespace plimsoll {

/// Batches that one reader of rows knows before they are due, in order, so that their rows can be read in
/// advance. `Batch` has rows(), all different, and bytes(); both are constant. Only read() may be called
/// while another call runs.
template <typename Batch>
class BatchesAhead {
 public:
  struct Options {
    /// Approximate maximum of the bytes of batches that are not yet due, without their rows.
    int64_t bytes = 0;
    int64_t batches = 0;  ///< Maximum number of these batches.
  };
  struct Coming {
    Batch batch;
    bool planned = false;
  };

  /// `rows` must outlive this object. With null no rows are read ahead, and read() must not be called.
  BatchesAhead(ScannedRows* rows, const Options& options) : rows_(rows), options_(options) {}
  ~BatchesAhead() { clear(); }
  BatchesAhead(const BatchesAhead&) = delete;
  BatchesAhead& operator=(const BatchesAhead&) = delete;

  bool empty() const { return coming_.empty(); }
  int64_t size() const { return std::ssize(coming_); }
  const Batch& front() const { return coming_.front().batch; }
  const Batch& back() const { return coming_.back().batch; }

  void add(Batch batch) {
    bytes_ += batch.bytes();
    coming_.push_back({std::move(batch)});
  }
  /// Adds batches from next(), which returns the batch after back() or none, while there is space for the
  /// batch and for the rows of earlier ones. Adds only a few per call, so that the first batches due do not
  /// wait for many others. Errors of next() are ignored; the caller meets them again when it asks for that
  /// batch itself.
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
  /// Sets the maximum number of batches.
  void limit(int64_t batches) { options_.batches = batches; }

  /// Removes and returns the first batch. If it is planned, read() or drop() has to follow.
  Coming pop() {
    Coming first = std::move(coming_.front());
    coming_.pop_front();
    bytes_ -= first.batch.bytes();
    return first;
  }
  /// Reads f32 [rows, F] of a batch that pop() returned, which is then no longer planned, also after an
  /// error. Any number of threads may call it. Errors: those of ScannedRows::read().
  void read(const Coming& of, float* out) {
    if (of.planned)
      rows_->take(of.batch.rows(), out);
    else
      rows_->read(of.batch.rows(), out);
  }
  void drop(const Coming& of) {
    if (of.planned) rows_->drop(of.batch.rows());
  }
  /// Drops all batches.
  void clear() {
    while (!empty()) drop(pop());
  }

 private:
  static constexpr int kMoreAtOnce = 4;

  // Plans the rows of all batches as far as space permits. Returns whether all are planned.
  bool plan() {
    if (rows_ == nullptr) return false;
    for (Coming& coming : coming_) {
      if (!coming.planned) coming.planned = rows_->plan(coming.batch.rows());
      if (!coming.planned) return false;
    }
    return true;
  }

  ScannedRows* rows_;
  Options options_;
  std::deque<Coming> coming_;
  int64_t bytes_ = 0;  // Sum of bytes() in queue_.
};

}  // namespace plimsoll
