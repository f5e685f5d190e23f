#include "rows/scanned_rows.h"

namespace plimsoll {

void ScannedRows::resize(int64_t bytes) {
  scan_.reset();
  if (bytes >= SharedScan::min_bytes(file_.layout())) scan_ = std::make_unique<SharedScan>(file_, bytes);
}

void ScannedRows::take(std::span<const int64_t> rows, float* out) {
  try {
    scan_->gather(rows, reinterpret_cast<std::byte*>(out));
  } catch (...) {
    drop(rows);
    throw;
  }
  drop(rows);
}

void ScannedRows::read(std::span<const int64_t> rows, float* out) {
  if (plan(rows))
    take(rows, out);
  else
    direct_.read(rows, out);
}

RowCounters ScannedRows::counters() const {
  return scan_ ? sum(direct_.counters(), scan_->counters()) : direct_.counters();
}

}  // namespace plimsoll
