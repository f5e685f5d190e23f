#pragma once

#include <cstdint>
#include <span>

#include "base/mutex.h"
#include "io/row_reader.h"
#include "rows/feature_file.h"
#include "rows/row_counters.h"

namespace plimsoll {

/// Reads rows of a feature file without a cache: each call reads its rows from the file, in file order. Any
/// number of threads may call it at once; they take turns.
class DirectRows {
 public:
  /// Errors: those of RowReader.
  explicit DirectRows(const FeatureFile& file);

  int64_t width() const { return file_.width; }
  /// Reserves memory (Tag::cache), so that read() allocates nothing for up to `rows` rows. Errors:
  /// BudgetExceeded.
  void reserve(int64_t rows) {
    const MutexLock lock(mutex_);
    wanted_.reserve(static_cast<size_t>(rows));
  }
  /// Reads rows as f32 [rows, F] into `out`; a row may occur more than once. Errors: those of
  /// RowReader::read(), BudgetExceeded.
  void read(std::span<const int64_t> rows, float* out);

  RowCounters counters() const;

 private:
  const FeatureFile file_;
  mutable Mutex mutex_;
  RowReader reader_ PLIMSOLL_GUARDED_BY(mutex_);
  Vector<WantedRow, Tag::cache> wanted_ PLIMSOLL_GUARDED_BY(mutex_);
  RowCounters counters_ PLIMSOLL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
