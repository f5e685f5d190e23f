#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "rows/scanned_rows.h"

namespace plimsoll {

/// Batches that one reader of rows knows before they are due, in their order, so that their rows are read
/// meanwhile. `Batch` has rows(), all different, and bytes(), which do not change. One call at a time, but
/// for read().
template <typename Batch>
class BatchesAhead {
 public:
  struct Options {
    int64_t bytes = 0;    ///< of batches that are not yet due, about; their rows come on top
    int64_t batches = 0;  ///< of these at most
  };
  struct Coming {
    Batch batch;
    bool planned = false;
  };

  /// `rows` has to outlive it; null: none are read ahead, and read() is not called.
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
  /// Adds what next() gives, the batch after back() or none, while there is room for it and for the rows of
  /// those before. A few at a time, so that the first that are due need not wait for many. An error of next()
  /// is left to who asks for that batch again.
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
  /// At most so many from now on.
  void limit(int64_t batches) { options_.batches = batches; }

  /// Takes the first one out. What is planned ends with read() or drop().
  Coming pop() {
    Coming first = std::move(coming_.front());
    coming_.pop_front();
    bytes_ -= first.batch.bytes();
    return first;
  }
  /// f32 [rows, F] of a batch that was taken out, which is no longer planned, also with an error. Any number
  /// of threads may call it. Errors: those of ScannedRows::read().
  void read(const Coming& of, float* out) {
    if (of.planned)
      rows_->take(of.batch.rows(), out);
    else
      rows_->read(of.batch.rows(), out);
  }
  void drop(const Coming& of) {
    if (of.planned) rows_->drop(of.batch.rows());
  }
  /// Forgets all that are known.
  void clear() {
    while (!empty()) drop(pop());
  }

 private:
  static constexpr int kMoreAtOnce = 4;

  // Has the rows of all batches read, as far as there is room for them.
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
  int64_t bytes_ = 0;  // of coming_
};

}  // namespace plimsoll
