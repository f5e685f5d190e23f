#include "rows/whole_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/seconds.h"

namespace plimsoll {
namespace {

constexpr int64_t kBatchPage = ScratchFile::kAlignment;
constexpr int64_t kMinBatchesOfRound = 2;
constexpr int64_t kMaxBatchesOfRound = 2048;
constexpr int64_t kFirstShare = 8;  // The first round is 1/kFirstShare of a full one.
// Share of the memory for read buffers. It is larger than the share for write buffers, because reads of a
// batch wait for each other and writes do not.
constexpr int64_t kBatchReadShare = 10;
constexpr int64_t kMinRead = 64 * 1024;
constexpr int64_t kMaxRead = 1024 * 1024;
constexpr int64_t kListShare = 10;
constexpr int64_t kMaxLists = 1024 * 1024;
constexpr int64_t kWriteShare = 40;
constexpr int64_t kMinWrite = 32 * 1024;
constexpr int64_t kMaxWrite = 512 * 1024;
constexpr int64_t kWriteBuffers = 6;
// Share of the remaining memory for ranges and for rows that stay. It is larger, up to kMaxRangeShare, if the
// file would otherwise have more than kFewRanges ranges, because each range costs each batch a read and a
// write.
constexpr double kRangeShare = 0.25;
constexpr double kMaxRangeShare = 0.7;
constexpr int64_t kFewRanges = 24;
constexpr int64_t kMinRange = 256 * 1024;
constexpr int64_t kMaxRange = int64_t{8} << 20;
constexpr int64_t kReadBuffers = 256 * 1024;
constexpr int64_t kLongestRangeRead = 64 * 1024;
constexpr int64_t kFixed = 32 * 1024;
// After a caller has waited this long, unread batches of the earlier round are considered abandoned.
constexpr auto kBatchPatience = std::chrono::milliseconds(50);

int64_t to_pages(int64_t bytes) {
  return (bytes + kBatchPage - 1) / kBatchPage * kBatchPage;
}

// Sets begins[r] to the index of the first row of range r in a list.
void set_begins(std::span<uint32_t> begins, std::span<const uint32_t> counts) {
  uint32_t begin = 0;
  for (size_t range = 0; range < counts.size(); ++range) {
    begins[range] = begin;
    begin += counts[range];
  }
}

}  // namespace

WholeBatches::Sizes WholeBatches::sizes_for(const RowLayout& layout, const Options& options) {
  Sizes sizes;
  const int64_t row = layout.row_bytes;
  if (layout.rows == 0 || layout.rows > std::numeric_limits<uint32_t>::max()) return sizes;
  sizes.list = BatchLists::list_bytes(options.max_rows);
  sizes.lists = sizes.list + to_pages(std::clamp(options.bytes / kListShare, kBatchPage, kMaxLists));
  sizes.read = to_pages(std::clamp(options.bytes / kBatchReadShare, kMinRead, kMaxRead));
  sizes.write = to_pages(std::clamp(options.bytes / kWriteShare, kMinWrite, kMaxWrite));
  const int64_t order = options.max_rows * static_cast<int64_t>(sizeof(uint32_t));
  const int64_t of_reader = sizes.read + to_pages(row) + order;
  const int64_t fixed = kWriteBuffers * sizes.write + kReadBuffers + kReadBuffers / 4 + kReaders * of_reader +
                        PinnedRows::bytes_for(layout, 0) + kFixed;
  const int64_t left = options.bytes - fixed - BatchLists::memory_bytes(sizes.lists, 0);
  if (left < kMinRange) return sizes;
  const auto of_row = row + static_cast<int64_t>(sizeof(WantedRow));
  const double share =
      std::max(kRangeShare * static_cast<double>(left),
               std::min(kMaxRangeShare * static_cast<double>(left),
                        static_cast<double>(layout.rows * of_row) / static_cast<double>(kFewRanges)));
  const int64_t range = std::clamp(static_cast<int64_t>(share), kMinRange, kMaxRange);
  sizes.range_rows = std::clamp<int64_t>(range / of_row, 1, std::min(layout.rows, BatchLists::kMaxRangeRows));
  sizes.ranges = (layout.rows + sizes.range_rows - 1) / sizes.range_rows;
  const int64_t max_batch = sizes.list + options.max_rows * row + sizes.ranges * kBatchPage;
  const int64_t batches = round_bytes(options) / max_batch;
  if (batches < kMinBatchesOfRound) return sizes;
  sizes.max_batches = std::min(2 * batches, kMaxBatchesOfRound);
  const int64_t counts =
      2 * sizes.max_batches *
          (sizes.ranges * static_cast<int64_t>(sizeof(uint32_t)) + static_cast<int64_t>(sizeof(Batch))) +
      BatchLists::memory_bytes(0, sizes.max_batches);
  const int64_t next = (1 + kReaders) * sizes.ranges * static_cast<int64_t>(sizeof(uint32_t));
  const int64_t kept = left - sizes.range_rows * of_row - counts - next;
  sizes.kept = kept < 0 ? -1 : std::min(kept / row, layout.rows);
  return sizes;
}

int64_t WholeBatches::kept_rows(const RowLayout& layout, const Options& options) {
  return sizes_for(layout, options).kept;
}

std::pair<double, double> WholeBatches::bytes_of_batch(const RowLayout& layout, const Options& options,
                                                       double rows) {
  constexpr double kHalfPage = static_cast<double>(kBatchPage) / 2;
  const Sizes sizes = sizes_for(layout, options);
  const auto ranges = static_cast<double>(sizes.ranges);
  // Each list and each range ends within a page, and the part of a list that is read at a time also begins
  // within a page.
  const double lists = rows * static_cast<double>(sizeof(uint16_t));
  const double padded = rows * static_cast<double>(layout.row_bytes) + ranges * kHalfPage;
  const double batches =
      std::max(static_cast<double>(round_bytes(options)) / (padded + lists + kHalfPage), 1.0);
  const double part = static_cast<double>(sizes.lists) / batches - 2 * kHalfPage;
  const double parts = part > 0 ? std::min(std::ceil(lists / part), ranges) : ranges;
  return {padded + lists + kHalfPage, padded + lists + parts * 2 * kHalfPage};
}

WholeBatches::WholeBatches(const FeatureFile& rows, const Options& options, ScratchFile scratch,
                           std::span<const uint8_t> uses)
    : row_bytes_(rows.layout().row_bytes),
      copy_(rows.values),
      sizes_(sizes_for(rows.layout(), options)),
      round_bytes_(round_bytes(options)),
      scratch_(std::move(scratch)),
      kept_(rows.layout(), uses, std::max<int64_t>(sizes_.kept, 0)),
      reader_(rows.path, rows.layout(),
              {.way = {},
               .buffer_bytes = kReadBuffers,
               .longest_gap = 0,
               .longest_piece = std::max(kLongestRangeRead, row_bytes_)}),
      writes_(scratch_, kWriteBuffers, sizes_.write, kWriteBuffers - 1),
      range_(Tag::cache, sizes_.range_rows * row_bytes_),
      lists_(scratch_, sizes_.lists, sizes_.max_batches),
      next_kept_(kept_.next(0)) {
  if (sizes_.kept < 0)
    throw UsageError(fmt::format("{} bytes of memory and {} of disk space are too few for batches of {} rows",
                                 options.bytes, options.scratch_bytes, options.max_rows));
  wanted_.reserve(static_cast<size_t>(sizes_.range_rows));
  next_.resize(static_cast<size_t>(sizes_.ranges));
  for (Round& round : rounds_) {
    round.batches.reserve(static_cast<size_t>(sizes_.max_batches));
    round.counts.reserve(static_cast<size_t>(sizes_.max_batches * sizes_.ranges));
  }
  for (Reader& reader : readers_) {
    reader.buffer = MappedBytes(Tag::cache, to_pages(row_bytes_) + sizes_.read);
    reader.order.resize(static_cast<size_t>(options.max_rows));
    reader.next.resize(static_cast<size_t>(sizes_.ranges));
  }
}

// Returns the bytes that the rows of a range occupy in the scratch file.
int64_t WholeBatches::bytes_of(uint32_t rows) const {
  return to_pages(int64_t{rows} * row_bytes_);
}

std::span<const uint32_t> WholeBatches::counts_of(const Round& round, int64_t batch) const {
  return std::span(round.counts)
      .subspan(static_cast<size_t>((batch - round.first_batch) * sizes_.ranges),
               static_cast<size_t>(sizes_.ranges));
}

bool WholeBatches::begin_round(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  Round& next = rounds_[1 - making_];
  if (!changed_.wait(mutex_, stop, [&] { return next.left == 0; })) return false;
  making_ = 1 - making_;
  next.is_ready = false;
  next.batches.clear();
  next.counts.clear();
  next.first_batch = added_;
  lists_.clear();
  // The first round is short, so that readers wait less for it. Each later round is made while the previous
  // one is read.
  limit_ = added_ == 0 ? round_bytes_ / kFirstShare : std::min(round_bytes_, 2 * limit_);
  used_ = 0;
  return true;
}

bool WholeBatches::add(std::span<const int64_t> rows, std::span<const std::byte> /*note*/) {
  Round& round = rounds_[making_];
  const auto ranges = static_cast<size_t>(sizes_.ranges);
  if (std::ssize(round.batches) == sizes_.max_batches) return false;
  const size_t first = round.counts.size();
  round.counts.resize(first + ranges, 0);
  const auto counts = std::span(round.counts).subspan(first);
  const auto range_of = [&](int64_t row) { return static_cast<size_t>(row / sizes_.range_rows); };
  int64_t missed = 0;
  for (const int64_t row : rows) {
    if (kept_.has(row)) continue;
    ++counts[range_of(row)];
    ++missed;
  }
  const int64_t list = BatchLists::list_bytes(missed);
  if (list > sizes_.list)
    throw Failure(fmt::format("a batch of {} rows is larger than the announced maximum", missed));
  int64_t bytes = list;
  for (const uint32_t count : counts) bytes += bytes_of(count);
  const bool is_first = round.batches.empty();
  if (used_ + bytes > (is_first ? round_bytes_ : limit_)) {
    round.counts.resize(first);
    return false;
  }
  // The list is sorted by range and, within each range, in the order of the batch.
  const std::span<uint16_t> to = lists_.buffer();
  set_begins(next_, counts);
  for (const int64_t row : rows)
    if (!kept_.has(row)) to[next_[range_of(row)]++] = static_cast<uint16_t>(row % sizes_.range_rows);
  const int64_t at = static_cast<int64_t>(making_) * round_bytes_ + used_;
  lists_.add(at, missed);
  round.batches.push_back({.rows_at = at + list, .next_at = at + list});
  used_ += bytes;
  ++added_;
  const MutexLock lock(mutex_);
  counters_.hits += std::ssize(rows) - missed;
  counters_.misses += missed;
  counters_.bytes_useful += missed * row_bytes_;
  counters_.bytes_written += bytes;
  return true;
}

bool WholeBatches::write(const std::stop_token& stop) {
  Round& round = rounds_[making_];
  for (int64_t range = 0; range < sizes_.ranges; ++range) {
    if (stop.stop_requested()) {
      writes_.finish();
      return false;
    }
    const int64_t first = range * sizes_.range_rows;
    read_range(first, std::min(first + sizes_.range_rows, reader_.layout().rows));
    fetch_lists(round, range);
    for (int64_t b = 0; b < std::ssize(round.batches); ++b) {
      const uint32_t count = counts_of(round, round.first_batch + b)[static_cast<size_t>(range)];
      write_range(round.batches[static_cast<size_t>(b)], lists_.take(b, count));
    }
  }
  writes_.finish();
  const MutexLock lock(mutex_);
  round.is_ready = true;
  round.left = std::ssize(round.batches);
  changed_.notify_all();
  return true;
}

// Reads all rows of a range, and stores those that stay in memory.
void WholeBatches::read_range(int64_t first, int64_t end) {
  const int64_t before = reader_.counts().bytes_read;
  wanted_.clear();
  for (int64_t row = first; row < end; ++row)
    wanted_.push_back({row, range_.data() + (row - first) * row_bytes_});
  reader_.read(wanted_);
  for (; next_kept_ != RowSet::kNone && next_kept_ < end; next_kept_ = kept_.next(next_kept_ + 1))
    kept_.put(next_kept_, range_.data() + (next_kept_ - first) * row_bytes_);
  const MutexLock lock(mutex_);
  counters_.bytes_read += reader_.counts().bytes_read - before;
}

void WholeBatches::fetch_lists(const Round& round, int64_t range) {
  const int64_t before = lists_.bytes_read();
  lists_.fetch(range, round.counts);
  const MutexLock lock(mutex_);
  counters_.bytes_read += lists_.bytes_read() - before;
}

// Writes the rows of a batch that are in range_.
void WholeBatches::write_range(Batch& batch, std::span<const uint16_t> rows) {
  std::byte* buffer = nullptr;
  int64_t filled = 0;
  const auto flush = [&] {
    const int64_t bytes = to_pages(filled);
    writes_.write(std::exchange(buffer, nullptr), batch.next_at, bytes);
    batch.next_at += bytes;
    filled = 0;
  };
  for (const uint16_t row : rows) {
    const std::byte* from = range_.data() + row * row_bytes_;
    for (int64_t left = row_bytes_; left > 0;) {
      if (buffer == nullptr) buffer = writes_.take();
      const int64_t some = std::min(left, sizes_.write - filled);
      std::memcpy(buffer + filled, from, static_cast<size_t>(some));
      filled += some;
      from += some;
      left -= some;
      if (filled == sizes_.write) flush();
    }
  }
  if (buffer != nullptr) flush();
}

void WholeBatches::fail(std::exception_ptr error) {
  const MutexLock lock(mutex_);
  error_ = std::move(error);
  changed_.notify_all();
}

void WholeBatches::forget(int64_t generation) {
  MutexLock lock(mutex_);
  generation_ = generation;
  changed_.notify_all();
  changed_.wait(mutex_, [&] { return std::ranges::all_of(readers_, &Reader::is_free); });
  for (Round& round : rounds_) {
    round.is_ready = false;
    round.left = 0;
  }
  added_ = ended_ = 0;
}

WholeBatches::Round* WholeBatches::round_of(int64_t batch) {
  for (Round& round : rounds_)
    if (round.is_ready && round.first_batch <= batch && batch < round.end_batch()) return &round;
  return nullptr;
}

void WholeBatches::end(Round& round, Batch& batch) {
  if (std::exchange(batch.is_over, true)) return;
  if (--round.left == 0) {
    ended_ = std::max(ended_, round.end_batch());
    round.is_ready = false;
  }
  changed_.notify_all();
}

// Called when a caller waits for a batch of a round that cannot be made because neither half of the file is
// free. Marks the remaining batches of the earlier round as over, unless a caller waits for them.
void WholeBatches::end_round_before(int64_t batch) {
  if (round_of(batch) != nullptr || rounds_[0].left == 0 || rounds_[1].left == 0) return;
  Round& earlier = rounds_[rounds_[0].first_batch < rounds_[1].first_batch ? 0 : 1];
  const bool is_read = std::ranges::any_of(readers_, [](const Reader& reader) { return !reader.is_free; });
  if (is_read || earlier.first_batch > batch) return;
  for (int64_t b = 0; b < std::ssize(earlier.batches) && earlier.is_ready; ++b)
    if (std::ranges::find(awaited_, earlier.first_batch + b) == awaited_.end())
      end(earlier, earlier.batches[static_cast<size_t>(b)]);
}

bool WholeBatches::read(int64_t generation, int64_t batch, const Placing& place) {
  const auto start = std::chrono::steady_clock::now();
  MutexLock lock(mutex_);
  Round* round = nullptr;
  Reader* reader = nullptr;
  const auto is_decided = [&]() PLIMSOLL_REQUIRES(mutex_) {
    round = nullptr;
    if (error_ || generation_ != generation || batch < ended_) return true;
    round = round_of(batch);
    if (round == nullptr) return false;
    const auto found = std::ranges::find_if(readers_, &Reader::is_free);
    reader = found == readers_.end() ? nullptr : &*found;
    return reader != nullptr;
  };
  awaited_.push_back(batch);
  while (!changed_.wait_for(mutex_, kBatchPatience, is_decided)) end_round_before(batch);
  awaited_.erase(std::ranges::find(awaited_, batch));
  if (error_) std::rethrow_exception(error_);
  if (generation_ != generation || round == nullptr) return false;
  Batch& wanted = round->batches[static_cast<size_t>(batch - round->first_batch)];
  if (wanted.is_over) return false;
  reader->is_free = false;
  counters_.waited_seconds += seconds_since(start);
  lock.unlock();
  std::exception_ptr error;
  RowCounters read;
  try {
    read = copy(*reader, wanted, counts_of(*round, batch), place({}));
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  counters_ = sum(counters_, read);
  reader->is_free = true;
  if (generation_ == generation) end(*round, wanted);
  changed_.notify_all();
  if (error) std::rethrow_exception(error);
  return true;
}

// Copies the rows that stay in memory, and sorts the indices of all other rows by range.
void WholeBatches::sort_places(Reader& reader, std::span<const uint32_t> counts, const Place& place) const {
  const auto out_bytes = static_cast<size_t>(copy_.out_bytes());
  set_begins(reader.next, counts);
  for (size_t i = 0; i < place.rows.size(); ++i) {
    const int64_t row = place.rows[i];
    if (const std::byte* const kept = kept_.find(row))
      copy_.copy(kept, place.out + i * out_bytes);
    else
      reader.order[reader.next[static_cast<size_t>(row / sizes_.range_rows)]++] = static_cast<uint32_t>(i);
  }
}

// Reads the rows of a batch from the scratch file into their places. Returns the counters of these reads.
RowCounters WholeBatches::copy(Reader& reader, const Batch& batch, std::span<const uint32_t> counts,
                               const Place& place) const {
  sort_places(reader, counts, place);
  const auto out_bytes = static_cast<size_t>(copy_.out_bytes());
  std::byte* const pages = reader.buffer.data() + to_pages(row_bytes_);
  int64_t bytes = 0;
  for (const uint32_t count : counts) bytes += bytes_of(count);
  RowCounters read;
  int64_t end = 0;              // End of the bytes that were read, relative to batch.rows_at.
  const std::byte* at = pages;  // The next row; `left` bytes from here on have been read.
  int64_t left = 0;
  const auto read_more = [&] {
    std::memmove(pages - left, at, static_cast<size_t>(left));
    at = pages - left;
    const int64_t some = std::min(sizes_.read, bytes - end);
    const auto start = std::chrono::steady_clock::now();
    scratch_.read(batch.rows_at + end, {pages, static_cast<size_t>(some)});
    read.waited_seconds += seconds_since(start);
    read.bytes_read += some;
    end += some;
    left += some;
  };
  const uint32_t* order = reader.order.data();
  for (const uint32_t count : counts) {
    for (uint32_t i = 0; i < count; ++i) {
      while (left < row_bytes_) read_more();
      copy_.copy(at, place.out + *order++ * out_bytes);
      at += row_bytes_;
      left -= row_bytes_;
    }
    const int64_t padding = bytes_of(count) - int64_t{count} * row_bytes_;
    at += padding;
    left -= padding;
  }
  return read;
}

RowCounters WholeBatches::counters() const {
  const MutexLock lock(mutex_);
  return counters_;
}

}  // namespace plimsoll
