#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "rows/direct_rows.h"
#include "rows/feature_file.h"
#include "rows/row_counters.h"
#include "rows/shared_scan.h"

namespace plimsoll {

/// Rows of a file of features for batches, some of which are known ahead: through a SharedScan, and past it
/// where this has no room for a batch. The rows of a batch are all different. Any number of threads may call
/// it at once, but for resize(). Rows are the same bytes for every size and order of calls.
class ScannedRows {
 public:
  /// Without a scan. Errors: those of RowReader.
  explicit ScannedRows(const FeatureFile& file) : file_(file), direct_(file) {}

  int64_t width() const { return file_.width; }
  /// A scan of so many bytes (Tag::cache), empty, in place of the one there is; of fewer than it needs: none.
  /// No batch is planned. Errors: BudgetExceeded, ThreadRefused, there being none then; those of RowReader.
  void resize(int64_t bytes);
  /// The bytes with which every row stays in memory.
  int64_t max_bytes() const { return SharedScan::max_bytes(file_.layout()); }
  /// Reads all rows, in one pass, if they do.
  void read_all() {
    if (scan_) scan_->read_all();
  }

  /// Has the rows of a coming batch read; false, with nothing changed, if there is no room for them now. Each
  /// batch that is planned ends once: by take() or by drop().
  bool plan(std::span<const int64_t> rows) { return scan_ && scan_->plan(rows); }
  /// f32 [rows, F] of a planned batch into `out`, which ends it, also with an error. Errors: those of
  /// RowReader::read().
  void take(std::span<const int64_t> rows, float* out);
  void drop(std::span<const int64_t> rows) { scan_->end(rows); }
  /// The same as take() of a batch that nobody planned. Errors: BudgetExceeded as well.
  void read(std::span<const int64_t> rows, float* out);

  RowCounters counters() const;

 private:
  const FeatureFile file_;
  DirectRows direct_;
  std::unique_ptr<SharedScan> scan_;
};

}  // namespace plimsoll
