#include "rows/page_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <climits>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/interrupt.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxPlaces = 64 * 1024;  // Maximum places looked up before missed pages are read.
constexpr int64_t kMaxMissed = 16 * 1024;  // Maximum pages read together.
constexpr int64_t kMinBufferBytes = 4096;
constexpr int64_t kMaxBufferBytes = 1024 * 1024;
// A call needs pages from all over the file, many of them close together. A separate read would cost more
// than reading the bytes between two pages (measured in bench/results/sampling.md).
constexpr int64_t kLongestRead = 32 * 1024;
constexpr int64_t kLongestSkip = 8 * 1024;

// Adds the duration of its scope to a counter.
class WaitTimer {
 public:
  explicit WaitTimer(double& seconds) : seconds_(seconds) {}
  ~WaitTimer() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

RowLayout pages_of(const std::filesystem::path& path, const NumberLayout& layout, int64_t page_bytes) {
  if (!std::has_single_bit(static_cast<uint64_t>(page_bytes)) || page_bytes % layout.number_bytes != 0)
    throw UsageError(fmt::format(
        "found pages of {} bytes, expected a power of two that is a multiple of {}, the bytes of a number",
        page_bytes, layout.number_bytes));
  const int64_t bytes = layout.count * layout.number_bytes;
  const int64_t pages = (bytes + page_bytes - 1) / page_bytes;
  if (pages > std::numeric_limits<int32_t>::max())
    throw UsageError(
        fmt::format("{}: found {} pages of {} bytes, expected at most 2^31 - 1; use larger pages",
                    path.string(), pages, page_bytes));
  return {layout.offset, page_bytes, pages, bytes - (pages - 1) * page_bytes, layout.file};
}

// Small columns get small buffers. Larger buffers would need more memory than the pages for which they save
// reads.
int64_t share_of(const NumberLayout& layout, int64_t share, int64_t min, int64_t max) {
  return std::clamp(layout.count * layout.number_bytes / share, min, max);
}

RowReader::Options reading_pages(const NumberLayout& layout, const PageCache::Options& options) {
  return {.way = options.way,
          .buffer_bytes = share_of(layout, 16, kMinBufferBytes, kMaxBufferBytes),
          .longest_gap = kLongestSkip,
          .longest_piece = std::min(kLongestRead, share_of(layout, 64, kMinBufferBytes, kMaxBufferBytes))};
}

}  // namespace

PageCounters& PageCounters::operator+=(const PageCounters& more) {
  hits += more.hits;
  misses += more.misses;
  pages_read += more.pages_read;
  bytes_read += more.bytes_read;
  waited_seconds += more.waited_seconds;
  return *this;
}

PageCache::PageCache(const std::filesystem::path& path, const NumberLayout& layout, const Options& options)
    : reader_(path, pages_of(path, layout, options.page_bytes), reading_pages(layout, options)),
      page_bytes_(options.page_bytes),
      shift_(std::countr_zero(static_cast<uint64_t>(options.page_bytes / layout.number_bytes))),
      slot_of_(static_cast<size_t>(pages()), kNone),
      uses_(pages()),
      waiting_(static_cast<size_t>(share_of(layout, 256, 256, kMaxPlaces))) {
  const auto max_missed =
      static_cast<size_t>(std::min({pages(), kMaxMissed, static_cast<int64_t>(waiting_.size())}));
  missed_.reserve(max_missed);
  wanted_.reserve(max_missed);
  fixed_bytes_ = static_cast<int64_t>(slot_of_.size() * sizeof(int32_t) + waiting_.size() * sizeof(int32_t) +
                                      max_missed * (sizeof(Missed) + sizeof(WantedRow))) +
                 PageUses::bytes_for(pages()) + reader_.buffer_bytes();
}

void PageCache::resize(int64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes < min_bytes())
    throw UsageError(
        fmt::format("a cache of {} bytes has no space for a page of {} bytes; expected {} bytes or more",
                    bytes, page_bytes_, min_bytes()));
  std::fill(slot_of_.begin(), slot_of_.end(), kNone);
  hand_ = 0;
  loaded_ = false;
  data_.reset();
  page_of_ = Slots();
  const auto slots = static_cast<size_t>(std::min((bytes - fixed_bytes_) / slot_bytes(), pages()));
  page_of_.resize(slots, kNone);
  try {
    data_ = MappedBytes(Tag::cache, static_cast<int64_t>(slots) * page_bytes_);
  } catch (...) {
    page_of_ = Slots();
    throw;
  }
}

// Records that a place waits for a page. Returns false if no more pages can be recorded.
bool PageCache::wait_for(int32_t page, int32_t place) {
  int32_t& slot = slot_of_[static_cast<size_t>(page)];
  if (slot == kNone) {
    if (missed_.size() == missed_.capacity()) return false;
    slot = -2 - static_cast<int32_t>(missed_.size());
    missed_.push_back({page, -1, kNone});
  }
  Missed& missed = missed_[static_cast<size_t>(-2 - slot)];
  waiting_[static_cast<size_t>(place)] = missed.last;
  missed.last = place;
  ++counters_.misses;
  return true;
}

// Chooses slots for the missed pages. Looks at a few adjacent slots and chooses an empty one; if none is
// empty, it chooses the one whose page is used least, if that page is used less than the missed page.
void PageCache::choose_slots() {
  constexpr size_t kLookedAt = 8;
  for (Missed& missed : missed_) {
    int min = uses_[missed.page];
    for (size_t i = 0; i < std::min(kLookedAt, page_of_.size()) && min >= 0; ++i) {
      const int32_t page = page_of_[hand_];
      const int uses = page == kNone ? -1 : page == kTaken ? INT_MAX : uses_[page];
      if (uses < min) {
        min = uses;
        missed.slot = static_cast<int32_t>(hand_);
      }
      hand_ = (hand_ + 1) % page_of_.size();
    }
    if (missed.slot == kNone) continue;
    int32_t& page = page_of_[static_cast<size_t>(missed.slot)];
    if (page != kNone) slot_of_[static_cast<size_t>(page)] = kNone;
    page = kTaken;
  }
}

// Calls use(last waiting place, page bytes) for each missed page, and keeps the pages that got a slot.
void PageCache::read_missed(const std::function<void(int32_t, const std::byte*)>& use) {
  if (missed_.empty()) return;
  choose_slots();
  wanted_.clear();
  for (const Missed& missed : missed_) wanted_.push_back({missed.page, nullptr});
  const WaitTimer waiting(counters_.waited_seconds);
  const auto end = [&](bool good) PLIMSOLL_REQUIRES(mutex_) {
    for (const Missed& missed : missed_) {
      slot_of_[static_cast<size_t>(missed.page)] = good ? missed.slot : kNone;
      if (missed.slot != kNone) page_of_[static_cast<size_t>(missed.slot)] = good ? missed.page : kNone;
    }
    missed_.clear();
  };
  try {
    reader_.read(wanted_, [&](const WantedRow& page, const std::byte* data) PLIMSOLL_REQUIRES(mutex_) {
      const Missed& missed = missed_[static_cast<size_t>(-2 - slot_of_[static_cast<size_t>(page.row)])];
      use(missed.last, data);
      if (missed.slot != kNone)
        std::memcpy(data_.data() + missed.slot * page_bytes_, data,
                    static_cast<size_t>(reader_.layout().bytes_of(page.row)));
    });
  } catch (...) {
    end(false);
    throw;
  }
  counters_.pages_read += static_cast<int64_t>(missed_.size());
  end(true);
}

// Reads the whole file in one pass, which costs less than reading pages one by one.
void PageCache::load() {
  read_pages(0, pages());
  loaded_ = true;
}

// Reads some pages into the first slots.
void PageCache::read_pages(int64_t first, int64_t count) {
  const WaitTimer waiting(counters_.waited_seconds);
  const auto together = static_cast<int64_t>(wanted_.capacity());
  for (int64_t slot = 0; slot < count; slot += together) {
    throw_if_interrupted("a column was read into memory");
    wanted_.clear();
    for (int64_t next = slot; next < std::min(slot + together, count); ++next)
      wanted_.push_back({first + next, data_.data() + next * page_bytes_});
    reader_.read(wanted_);
  }
  counters_.pages_read += count;
}

void PageCache::hold(int64_t first, int64_t count) {
  const MutexLock lock(mutex_);
  if (holds_all()) {
    if (!loaded_) load();
    return;
  }
  count = std::min(count, std::ssize(page_of_));
  read_pages(first, count);
  for (int64_t slot = 0; slot < count; ++slot) {
    page_of_[static_cast<size_t>(slot)] = static_cast<int32_t>(first + slot);
    slot_of_[static_cast<size_t>(first + slot)] = static_cast<int32_t>(slot);
  }
}

PageCounters PageCache::counters() const {
  const MutexLock lock(mutex_);
  PageCounters counters = counters_;
  counters.bytes_read = reader_.counts().bytes_read;
  return counters;
}

}  // namespace plimsoll
