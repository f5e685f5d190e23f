#include "rows/direct_rows.h"

#include <chrono>

#include "base/mutex.h"
#include "base/seconds.h"

namespace plimsoll {
namespace {

// A batch of one giant graph needs about one row in every few kilobytes of the file. Longer reads are then
// faster, although they read more bytes.
constexpr int64_t kLongestDirectGap = 8 * 1024;
constexpr int64_t kLongestDirectRead = 32 * 1024;

}  // namespace

DirectRows::DirectRows(const FeatureFile& file)
    : file_(file),
      reader_(file.path, file.layout(),
              {.way = {}, .longest_gap = kLongestDirectGap, .longest_piece = kLongestDirectRead}) {}

void DirectRows::read(std::span<const int64_t> rows, float* out) {
  const std::span wide(out, rows.size() * static_cast<size_t>(file_.width));
  const int64_t row_bytes = file_.layout().row_bytes;
  const MutexLock lock(mutex_);
  std::byte* to = file_.values.packed_in(wide);
  wanted_.clear();
  for (const int64_t row : rows) {
    wanted_.push_back({row, to});
    to += row_bytes;
  }
  const auto start = std::chrono::steady_clock::now();
  reader_.read(wanted_);
  counters_.waited_seconds += seconds_since(start);
  counters_.misses += std::ssize(rows);
  counters_.bytes_useful += std::ssize(rows) * row_bytes;
  file_.values.widen_in_place(wide);
}

RowCounters DirectRows::counters() const {
  const MutexLock lock(mutex_);
  RowCounters counters = counters_;
  counters.bytes_read = reader_.counts().bytes_read;
  return counters;
}

}  // namespace plimsoll
