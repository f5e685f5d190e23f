#include "rows/shared_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/start_thread.h"

namespace plimsoll {
namespace {

constexpr int64_t kLongestPiece = 32 * 1024;
constexpr int64_t kMinBuffers = 64 * 1024;
constexpr int64_t kMaxBuffers = 2 * 1024 * 1024;
constexpr int64_t kBufferShare = 16;
// Number of rows that are read before the wanted rows are checked again.
constexpr int64_t kPieceRows = 8192;
constexpr int64_t kPieceShare = 8;
constexpr int64_t kMinSlots = 16;
// A round begins when the wanted rows need a quarter of the slots, or when a caller waits.
constexpr int64_t kRoundShare = 4;
constexpr size_t kTogether = 256;  // Number of rows that are looked up at a time.
constexpr size_t kAhead = 8;       // Distance of the prefetch, in rows.
constexpr const char* kNotPlanned = "gathered a row that no batch has planned";

int64_t buffers_for(int64_t bytes) {
  return std::clamp(bytes / kBufferShare, kMinBuffers, kMaxBuffers);
}

int64_t piece_for(int64_t slots) {
  return std::clamp<int64_t>(slots / kPieceShare, kMinSlots / 2, kPieceRows);
}

RowReader::Options reading(const RowLayout& layout, int64_t bytes) {
  const int64_t buffers = buffers_for(bytes);
  return {.way = {},
          .buffer_bytes = buffers,
          .longest_gap = SharedScan::kLongestGap,
          .longest_piece = std::max(layout.row_bytes, std::min(kLongestPiece, buffers / 16))};
}

}  // namespace

int64_t SharedScan::bytes_for(const RowLayout& layout, int64_t slots) {
  const int64_t rows = slots * (layout.row_bytes + kSlotBytes) + RowTable<int32_t>::bytes_for(slots) +
                       piece_for(slots) * static_cast<int64_t>(sizeof(WantedRow)) + layout.rows / 8 + 64;
  // Buffers are a share of the total; long rows need space for their own length and the sectors around them.
  const int64_t all = rows + rows / (kBufferShare - 1);
  return std::max(all, rows + kMinBuffers) + 2 * layout.row_bytes + 64 * 1024;
}

int64_t SharedScan::slots_for(const RowLayout& layout, int64_t bytes) {
  int64_t min = 0, max = std::min<int64_t>(layout.rows, std::numeric_limits<int32_t>::max()) + 1;
  while (max - min > 1) {  // `min` slots fit, `max` do not.
    const int64_t middle = min + (max - min) / 2;
    (bytes_for(layout, middle) <= bytes ? min : max) = middle;
  }
  return min;
}

int64_t SharedScan::min_bytes(const RowLayout& layout) {
  return bytes_for(layout, std::min(layout.rows, kMinSlots));
}

int64_t SharedScan::max_bytes(const RowLayout& layout) {
  return bytes_for(layout, layout.rows);
}

SharedScan::SharedScan(const std::filesystem::path& path, const RowLayout& layout, RowCopy copy,
                       int64_t bytes)
    : reader_(path, layout, reading(layout, bytes)),
      copy_(std::move(copy)),
      slots_(slots_for(layout, bytes)),
      all_fit_(slots_ >= layout.rows),
      enough_(std::max<int64_t>(1, slots_ / kRoundShare)),
      rows_(Tag::cache, slots_ * layout.row_bytes),
      slot_(static_cast<size_t>(slots_)),
      slot_of_(all_fit_ ? 0 : slots_),
      unwanted_(all_fit_ ? 0 : slots_),
      is_wanted_(static_cast<size_t>((layout.rows + 63) / 64), uint64_t{0}) {
  if (slots_ < std::min(layout.rows, kMinSlots))
    throw UsageError(
        fmt::format("found {} bytes for reading rows of {} bytes in rounds, expected {} bytes or more", bytes,
                    layout.row_bytes, min_bytes(layout)));
  if (!all_fit_) free_.reserve(static_cast<size_t>(slots_));
  for (int64_t number = slots_; !all_fit_ && number-- > 0;) free_.push_back(static_cast<int32_t>(number));
  piece_.reserve(static_cast<size_t>(piece_for(slots_)));
  thread_ = start_thread([this](const std::stop_token& stop) { run_reader(stop); });
}

SharedScan::~SharedScan() = default;

void SharedScan::set_uses(std::span<const uint8_t> uses) {
  const MutexLock lock(mutex_);
  uses_ = uses;
  if (!all_fit_) return;
  // The run will need all of these rows, and one pass over the file reads them.
  for (size_t row = 0; row < uses_.size(); ++row) {
    const auto number = static_cast<int32_t>(row);
    if (uses_[row] > 0 && state(number) == State::absent) will_read(number, number);
  }
  changed_.notify_all();
}

void SharedScan::read_all() {
  const MutexLock lock(mutex_);
  for (int32_t row = 0; all_fit_ && row < slots_; ++row)
    if (state(row) == State::absent) will_read(row, row);
  changed_.notify_all();
}

int32_t SharedScan::take_slot() {
  int32_t number = 0;
  if (!free_.empty()) {
    number = free_.back();
    free_.pop_back();
  } else {
    number = unwanted_.first_to_go();
    unwanted_.remove(number);
    --unwanted_count_;
    slot_of_.erase(slot(number).row);
  }
  return number;
}

int32_t SharedScan::find(int64_t row) {
  if (all_fit_) return state(static_cast<int32_t>(row)) == State::absent ? kNone : static_cast<int32_t>(row);
  const int32_t* const found = slot_of_.find(row);
  return found == nullptr ? kNone : *found;
}

void SharedScan::want(int64_t row) {
  const int32_t found = find(row);
  if (found != kNone && !(all_fit_ && slot(found).batches == 0)) {
    Slot& planned = slot(found);
    if (!all_fit_ && planned.batches++ == 0 && planned.state == State::present) {
      unwanted_.remove(found);
      --unwanted_count_;
    }
    ++counters_.hits;
    return;
  }
  ++counters_.misses;
  counters_.bytes_useful += reader_.layout().row_bytes;
  if (all_fit_) {
    slot(static_cast<int32_t>(row)).batches = 1;
    if (found == kNone) will_read(static_cast<int32_t>(row), row);
  } else {
    const int32_t number = take_slot();
    slot(number) = {row, 1, State::wanted};
    slot_of_.insert_or_assign(row, number);
    will_read(number, row);
  }
}

void SharedScan::will_read(int32_t number, int64_t row) {
  set_state(number, State::wanted);
  is_wanted_[static_cast<size_t>(row / 64)] |= uint64_t{1} << (row % 64);
  ++wanted_;
}

bool SharedScan::plan(std::span<const int64_t> rows) {
  const MutexLock lock(mutex_);
  // Counts the rows that need a slot, and those that occupy an unwanted slot, because other rows cannot use
  // that slot.
  int64_t more = 0;
  for (size_t i = 0; !all_fit_ && i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) slot_of_.prefetch(rows[i + kAhead]);
    const int32_t* const found = slot_of_.find(rows[i]);
    more += found == nullptr || (slot(*found).batches == 0 && slot(*found).state == State::present);
  }
  if (more > static_cast<int64_t>(free_.size()) + unwanted_count_) return false;
  if (all_fit_) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i + kAhead < rows.size()) __builtin_prefetch(&slot(static_cast<int32_t>(rows[i + kAhead])));
      want(rows[i]);
    }
  } else {
    // Rows already cached come first, so that reading the others does not evict them.
    for (const int64_t row : rows)
      if (find(row) != kNone) want(row);
    for (const int64_t row : rows)
      if (find(row) == kNone) want(row);
  }
  changed_.notify_all();
  return true;
}

void SharedScan::gather(std::span<const int64_t> rows, std::byte* out) {
  const auto out_bytes = static_cast<size_t>(copy_.out_bytes());
  std::array<const std::byte*, kTogether> from;
  for (size_t first = 0; first < rows.size(); first += kTogether) {
    const auto some = rows.subspan(first, std::min(kTogether, rows.size() - first));
    find_all(some, from);
    for (size_t i = 0; i < some.size(); ++i) {
      if (i + kAhead < some.size()) __builtin_prefetch(from[i + kAhead]);
      copy_.copy(from[i], out + (first + i) * out_bytes);
    }
  }
}

// Finds the addresses of these rows, and waits until the rows are read.
void SharedScan::find_all(std::span<const int64_t> rows, std::span<const std::byte*> from) {
  if (all_fit_) return find_fitting(rows, from);
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) slot_of_.prefetch(rows[i + kAhead]);
    const int32_t number = find(rows[i]);
    if (number == kNone) throw Failure(kNotPlanned);
    from[i] = data_of(number);
    if (state(number) != State::present) wait_for(number);
  }
}

// Does the same as find_all() if all rows fit. Locks only to wait.
void SharedScan::find_fitting(std::span<const int64_t> rows, std::span<const std::byte*> from) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) __builtin_prefetch(&slot(static_cast<int32_t>(rows[i + kAhead])));
    const auto number = static_cast<int32_t>(rows[i]);
    const State found = state(number);
    if (found == State::absent) throw Failure(kNotPlanned);
    from[i] = data_of(number);
    if (found == State::present) continue;
    const MutexLock lock(mutex_);
    wait_for(number);
  }
}

void SharedScan::wait_for(int32_t number) {
  if (waiting_++ == 0) waiting_since_ = Clock::now();
  changed_.notify_all();
  changed_.wait(mutex_,
                [&]() PLIMSOLL_REQUIRES(mutex_) { return state(number) == State::present || error_; });
  if (--waiting_ == 0)
    counters_.waited_seconds += std::chrono::duration<double>(Clock::now() - waiting_since_).count();
  if (state(number) == State::present) return;
  const std::exception_ptr error = std::exchange(error_, nullptr);
  changed_.notify_all();
  std::rethrow_exception(error);
}

// Frees a slot whose row is no longer wanted by any batch.
void SharedScan::release(int32_t number) {
  const Slot& released = slot(number);
  if (released.state == State::present) {
    const uint8_t uses = uses_.empty() ? uint8_t{0} : uses_[static_cast<size_t>(released.row)];
    unwanted_.place(number, use_level(uses));
    ++unwanted_count_;
  } else if (released.state == State::wanted) {
    is_wanted_[static_cast<size_t>(released.row / 64)] &= ~(uint64_t{1} << (released.row % 64));
    --wanted_;
    slot_of_.erase(released.row);
    free_.push_back(number);
  }
}

void SharedScan::end(std::span<const int64_t> rows) {
  if (all_fit_) return;
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) slot_of_.prefetch(rows[i + kAhead]);
    const int32_t* const found = slot_of_.find(rows[i]);
    if (found == nullptr) throw Failure("ended a batch that was not planned");
    const int32_t number = *found;
    if (--slot(number).batches == 0) release(number);
  }
}

bool SharedScan::has_work() const {
  if (error_ || wanted_ == 0) return false;
  return waiting_ > 0 || (!failed_ && (left_ > 0 || wanted_ >= enough_));
}

// Collects the next wanted rows in file order.
void SharedScan::collect() {
  const int64_t rows = reader_.layout().rows;
  const int64_t from = position_;
  piece_.clear();
  auto word = static_cast<size_t>(position_ / 64);
  uint64_t bits = is_wanted_[word] & ~uint64_t{0} << (position_ % 64);
  while (piece_.size() < piece_.capacity()) {
    while (bits == 0 && word + 1 < is_wanted_.size()) bits = is_wanted_[++word];
    if (bits == 0) break;
    const int bit = std::countr_zero(bits);
    bits &= bits - 1;
    is_wanted_[word] &= ~(uint64_t{1} << bit);
    position_ = static_cast<int64_t>(word) * 64 + bit + 1;
    const int32_t number = find(position_ - 1);
    set_state(number, State::reading);
    piece_.push_back({position_ - 1, data_of(number)});
  }
  wanted_ -= static_cast<int64_t>(piece_.size());
  if (piece_.size() < piece_.capacity() || position_ == rows) position_ = rows;
  left_ -= position_ - from;
  if (position_ == rows) position_ = 0;
}

void SharedScan::run_reader(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (changed_.wait(mutex_, stop, [&]() PLIMSOLL_REQUIRES(mutex_) { return has_work(); }) &&
         !stop.stop_requested()) {
    if (left_ <= 0) left_ = reader_.layout().rows;
    collect();
    lock.unlock();
    std::exception_ptr error;
    try {
      reader_.read(piece_);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    for (const WantedRow& read : piece_) {
      const int32_t number = find(read.row);
      set_state(number, error ? State::wanted : State::present);
      if (error) {
        is_wanted_[static_cast<size_t>(read.row / 64)] |= uint64_t{1} << (read.row % 64);
        ++wanted_;
      }
      if (!all_fit_ && slot(number).batches == 0) release(number);
    }
    error_ = error;
    failed_ = error != nullptr;
    counters_.bytes_read = reader_.counts().bytes_read;
    changed_.notify_all();
  }
}

RowCounters SharedScan::counters() const {
  const MutexLock lock(mutex_);
  return counters_;
}

}  // namespace plimsoll
