#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "rows/direct_rows.h"
#include "rows/feature_file.h"
#include "rows/row_counters.h"
#include "rows/shared_scan.h"

namespace plimsoll {

/// Reads rows of a feature file for batches, some of which are known in advance. Uses a SharedScan, or reads
/// directly if the scan has no space for a batch. The rows of a batch must be distinct. Any number of threads
/// may call it at once, except for resize(). The result does not depend on sizes or on the order of calls.
class ScannedRows {
 public:
  /// Starts without a scan. Errors: those of RowReader.
  explicit ScannedRows(const FeatureFile& file) : file_(file), direct_(file) {}

  int64_t width() const { return file_.width; }
  /// Replaces the scan with an empty one of `bytes` bytes (Tag::cache), or with none if a scan needs more. No
  /// batch may be planned. Errors: BudgetExceeded and ThreadRefused, after which there is no scan; those of
  /// RowReader.
  void resize(int64_t bytes);
  /// Returns the bytes of a scan that keeps every row in memory.
  int64_t max_bytes() const { return SharedScan::max_bytes(file_.layout()); }
  /// Requests all rows, to be read in one pass, if all of them fit into memory. Does not wait for them.
  void read_all() {
    if (scan_) scan_->read_all();
  }

  /// Requests the rows of a future batch. Returns false, with nothing changed, if there is currently no space
  /// for them or no scan. Each planned batch must be ended once, by take() or drop().
  bool plan(std::span<const int64_t> rows) { return scan_ && scan_->plan(rows); }
  /// Reads the rows of a planned batch, f32 [rows, F], into `out`. This ends the batch, even after an error.
  /// Errors: those of RowReader::read().
  void take(std::span<const int64_t> rows, float* out);
  /// Ends a planned batch without reading it.
  void drop(std::span<const int64_t> rows) { scan_->end(rows); }
  /// Does the same as take() for a batch that is not planned. Errors: those of take(), BudgetExceeded.
  void read(std::span<const int64_t> rows, float* out);

  /// Returns the counters of direct reads since construction and of the scan since the last resize().
  RowCounters counters() const;

 private:
  const FeatureFile file_;
  DirectRows direct_;
  std::unique_ptr<SharedScan> scan_;
};

}  // namespace plimsoll
