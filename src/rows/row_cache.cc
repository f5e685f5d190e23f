#include "rows/row_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/seconds.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

// A row read ahead is kept beside where it is to go and where it is in its batch.
int64_t ahead_rows(int64_t row_bytes, const RowCache::Options& options) {
  return options.ahead_bytes / (row_bytes + static_cast<int64_t>(sizeof(WantedRow) + sizeof(int32_t)));
}

int64_t slots_that_fit(int64_t row_bytes, const RowCache::Options& options) {
  const int64_t bytes = options.bytes - options.ahead_bytes;
  const auto taken = [&](int64_t slots) {
    return slots * (row_bytes + static_cast<int64_t>(sizeof(int64_t)) + NextUseOrder::kSlotBytes) +
           RowTable<int32_t>::bytes_for(slots);
  };
  int64_t slots = bytes / (row_bytes + static_cast<int64_t>(sizeof(int64_t)) + NextUseOrder::kSlotBytes + 12);
  while (slots > 0 && taken(slots) > bytes)
    slots -= std::max<int64_t>(1, (taken(slots) - bytes) / (row_bytes + 64));
  slots = std::min<int64_t>(slots, std::numeric_limits<int32_t>::max());
  if (slots <= 0)
    throw UsageError(
        fmt::format("a cache of {} bytes, {} of them for reading ahead, has no room for a row of {}",
                    options.bytes, options.ahead_bytes, row_bytes));
  return slots;
}

}  // namespace

RowCache::RowCache(RowReader& reader, const Options& options)
    : reader_(reader),
      row_bytes_(reader.layout().row_bytes),
      slots_(std::min(slots_that_fit(row_bytes_, options), reader.layout().rows)),
      rows_(static_cast<size_t>(slots_ * row_bytes_)),
      row_of_(static_cast<size_t>(slots_)),
      slot_of_(slots_),
      order_(slots_),
      ahead_(reader, std::min(ahead_rows(row_bytes_, options), reader.layout().rows)) {}

void RowCache::plan(std::span<const int64_t> rows) {
  plan_.append(rows, [this](int64_t row, int32_t batch) {
    if (const int32_t* const slot = slot_of_.find(row)) order_.place(*slot, batch);
  });
  if (plan_.batches().size() == 1) begin_ahead();
}

void RowCache::forget_plan() {
  if (plan_.empty()) return;
  try {
    ahead_.wait();
  } catch (const Error&) {  // nobody wants these rows any more
  }
  ahead_.clear();
  const int32_t coming = plan_.batches().back().number + 1;
  while (!plan_.empty()) plan_.pop();
  order_.forget_before(coming);
}

void RowCache::begin_window() {
  const int32_t front = plan_.front().number;
  if (front < window_end_) return;
  counters_.fewest_misses +=
      fewest_misses(plan_, slots_, [this](int32_t batch) { return order_.count(batch); });
  window_end_ = plan_.batches().back().number + 1;
}

// Reads what the next batch will miss. What is in the cache stays there until it comes.
void RowCache::begin_ahead() {
  ahead_.clear();
  if (plan_.empty()) return;
  const auto& rows = plan_.front().rows;
  for (size_t i = 0; i < rows.size() && !ahead_.full(); ++i)
    if (slot_of_.find(rows[i]) == nullptr) ahead_.add(rows[i], static_cast<int32_t>(i));
  ahead_.begin();
}

void RowCache::gather_planned(std::byte* out) {
  if (plan_.empty()) throw Failure("rows of a planned batch are asked for, and none is planned");
  begin_window();
  const RowPlan::Batch& batch = plan_.front();
  order_.forget_before(batch.number);
  const int64_t before = counters_.misses;
  try {
    gather(batch.rows, batch.next_use.data(), out);
  } catch (...) {
    plan_.pop();
    throw;
  }
  counters_.planned_misses += counters_.misses - before;
  plan_.pop();
  begin_ahead();
}

void RowCache::gather(std::span<const int64_t> rows, std::byte* out) {
  gather(rows, nullptr, out);
}

void RowCache::gather(std::span<const int64_t> rows, const int32_t* next_use, std::byte* out) {
  constexpr size_t kAhead = 8;  // rows whose bucket is on its way from memory
  const bool planned = next_use != nullptr;
  const auto row_bytes = static_cast<size_t>(row_bytes_);
  Clock::time_point start = Clock::now();
  ahead_.wait();
  counters_.waited_seconds += seconds_since(start);

  missed_.clear();
  missed_at_.clear();
  size_t read_ahead = 0;  // of what was read ahead, the next
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) slot_of_.prefetch(rows[i + kAhead]);
    std::byte* const to = out + i * row_bytes;
    const bool here =
        planned && read_ahead < ahead_.size() && ahead_.index(read_ahead) == static_cast<int32_t>(i);
    if (here) ++read_ahead;
    if (const int32_t* const slot = slot_of_.find(rows[i])) {
      std::memcpy(to, data_of(*slot), row_bytes);
      order_.place(*slot, planned ? next_use[i] : order_.next_use(*slot));
      ++counters_.hits;
    } else if (here) {
      std::memcpy(to, ahead_.data(read_ahead - 1), row_bytes);
      missed_at_.push_back(static_cast<int32_t>(i));
    } else {
      missed_.push_back({rows[i], to});
      missed_at_.push_back(static_cast<int32_t>(i));
    }
  }
  if (!missed_.empty()) {
    start = Clock::now();
    reader_.read(missed_);
    counters_.waited_seconds += seconds_since(start);
  }
  for (const int32_t at : missed_at_) {
    const auto i = static_cast<size_t>(at);
    if (slot_of_.find(rows[i]) != nullptr) {
      ++counters_.hits;  // a row that is more than once in the batch is missed once
      continue;
    }
    ++counters_.misses;
    insert(rows[i], planned ? next_use[i] : kNever, out + i * row_bytes);
  }
}

void RowCache::insert(int64_t row, int32_t next_use, const std::byte* data) {
  int32_t slot = used_;
  if (used_ < slots_) {
    ++used_;
  } else {
    slot = order_.first_to_go();
    const int32_t farthest = order_.next_use(slot);
    if (next_use > farthest || (next_use == farthest && !is_never(next_use))) return;
    slot_of_.erase(row_of_[static_cast<size_t>(slot)]);
  }
  slot_of_.insert_or_assign(row, slot);
  row_of_[static_cast<size_t>(slot)] = row;
  std::memcpy(data_of(slot), data, static_cast<size_t>(row_bytes_));
  order_.place(slot, next_use);
}

RowCounters RowCache::counters() {
  ahead_.wait();
  counters_.bytes_read = reader_.counts().bytes_read;
  counters_.bytes_useful = counters_.misses * row_bytes_;
  return counters_;
}

}  // namespace plimsoll
