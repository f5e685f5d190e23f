#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "base/mutex.h"
#include "io/row_reader.h"
#include "memory/mapped_bytes.h"
#include "rows/page_uses.h"

namespace plimsoll {

/// Layout of numbers of equal length, contiguous in a file.
struct NumberLayout {
  int64_t offset = 0;  ///< Byte offset of the first number, a multiple of number_bytes.
  int64_t number_bytes = 0;
  int64_t count = 0;
  std::optional<FileIdentity> file = {};  ///< Same as in RowLayout.
};

/// Counters of a page cache since its construction.
struct PageCounters {
  int64_t hits = 0;           ///< Numbers that were in memory.
  int64_t misses = 0;         ///< Numbers that were not in memory.
  int64_t pages_read = 0;     ///< Pages read, including those that hold() and whole-file reads read.
  int64_t bytes_read = 0;     ///< Bytes of all reads, including the gaps between pages.
  double waited_seconds = 0;  ///< Time spent waiting for the disk.

  PageCounters& operator+=(const PageCounters& more);
};

/// Random access to single numbers of a file, with as many pages in memory as a budget allows. Accessing a
/// number in memory costs a lookup in a table of all pages (5 bytes per page) and no system call. The missing
/// pages of a call are read together, a large call in several parts. The most used pages stay in memory
/// (PageUses). If all pages fit, the first call reads the whole file, and later access is as fast as memory.
///
/// Any number of threads may call it at once; they take turns. The results do not depend on the budget.
class PageCache {
 public:
  static constexpr int64_t kPageBytes = 4096;

  struct Options {
    std::optional<ReadMethod> way;    ///< Method of reading; unset: choose_method() decides.
    int64_t page_bytes = kPageBytes;  ///< Must be a power of two and a multiple of number_bytes.
  };

  /// Opens the file. The cache holds no pages before resize(), but allocates bytes_for(0) under Tag::cache.
  /// Errors: those of RowReader; UsageError if page_bytes is invalid or the file has more than 2^31 - 1
  /// pages.
  PageCache(const std::filesystem::path& path, const NumberLayout& layout, const Options& options);

  /// Returns the total bytes of a cache that holds `pages` pages.
  int64_t bytes_for(int64_t pages) const { return fixed_bytes_ + pages * slot_bytes(); }
  /// Returns the smallest size that resize() accepts.
  int64_t min_bytes() const { return bytes_for(std::min<int64_t>(1, pages())); }
  /// Returns the size that holds all pages.
  int64_t max_bytes() const { return bytes_for(pages()); }
  int64_t pages() const { return reader_.layout().rows; }
  int64_t numbers_per_page() const { return int64_t{1} << shift_; }

  /// Drops all pages. Afterwards the cache holds as many pages as fit into `bytes`. Errors: UsageError for
  /// less than min_bytes(); BudgetExceeded (Tag::cache), after which the cache holds nothing.
  void resize(int64_t bytes);
  /// Reads the pages first .. first+count-1 in long reads. They stay until a page that is used more often
  /// needs the space. Call it at most once after a resize(), and before read(). Pages that do not fit are not
  /// read; if all pages of the file fit, all are read. Errors: those of RowReader::read(), Interrupted.
  void hold(int64_t first, int64_t count);

  /// Calls use(i, p) for each i, where p points to the number at index places[i] of the file, which must be
  /// less than NumberLayout::count. T must have number_bytes bytes. The later numbers of the same page follow
  /// it in memory. The order is unspecified, several threads may call `use` at once, and p is valid only
  /// during the call. `use` must not throw or call this object. Errors: those of RowReader::read();
  /// Interrupted while the whole file is read. After an error, `use` has not been called for some places, but
  /// the cache can still be read.
  template <typename T, typename Use>
  void read(std::span<const int64_t> places, const Use& use);

  PageCounters counters() const;

 private:
  // Marks an absent page in slot_of_. A value v below it refers to missed_[-2 - v].
  static constexpr int32_t kNone = -1;
  static constexpr int32_t kTaken = -2;  // Marks a slot in page_of_ whose page is being read.
  static constexpr size_t kAhead = 16;   // Distance of the prefetch, in numbers.

  using Slots = Vector<int32_t, Tag::cache>;
  struct Missed {
    int32_t page = 0;
    // Last place of this call that waits for the page: the head of a list that continues in waiting_.
    int32_t last = 0;
    int32_t slot = kNone;
  };

  bool holds_all() const PLIMSOLL_REQUIRES(mutex_) { return page_of_.size() == slot_of_.size(); }
  int64_t slot_bytes() const { return page_bytes_ + static_cast<int64_t>(sizeof(int32_t)); }
  template <typename T, typename Use>
  size_t find(std::span<const int64_t> places, const Use& use) PLIMSOLL_REQUIRES(mutex_);
  template <typename T, typename Use>
  void use_all(std::span<const int64_t> places, const Use& use) PLIMSOLL_REQUIRES(mutex_);
  bool wait_for(int32_t page, int32_t place) PLIMSOLL_REQUIRES(mutex_);
  void read_missed(const std::function<void(int32_t, const std::byte*)>& use) PLIMSOLL_REQUIRES(mutex_);
  void choose_slots() PLIMSOLL_REQUIRES(mutex_);
  void load() PLIMSOLL_REQUIRES(mutex_);
  void read_pages(int64_t first, int64_t count) PLIMSOLL_REQUIRES(mutex_);

  RowReader reader_;
  int64_t page_bytes_;
  int shift_;
  int64_t fixed_bytes_;
  mutable Mutex mutex_;
  Vector<int32_t, Tag::cache> slot_of_ PLIMSOLL_GUARDED_BY(mutex_);  // [pages], the slot of each page.
  PageUses uses_ PLIMSOLL_GUARDED_BY(mutex_);
  // For each place of a call, the previous place that waits for the same page.
  Vector<int32_t, Tag::cache> waiting_ PLIMSOLL_GUARDED_BY(mutex_);
  Vector<Missed, Tag::cache> missed_ PLIMSOLL_GUARDED_BY(mutex_);  // Missed pages of a call.
  Vector<WantedRow, Tag::cache> wanted_ PLIMSOLL_GUARDED_BY(mutex_);
  MappedBytes data_ PLIMSOLL_GUARDED_BY(mutex_);     // [slots, page_bytes]
  Slots page_of_ PLIMSOLL_GUARDED_BY(mutex_);        // [slots]
  size_t hand_ PLIMSOLL_GUARDED_BY(mutex_) = 0;      // Slot that is examined next.
  bool loaded_ PLIMSOLL_GUARDED_BY(mutex_) = false;  // The whole file is in data_, in file order.
  PageCounters counters_ PLIMSOLL_GUARDED_BY(mutex_);
};

template <typename T, typename Use>
void PageCache::read(std::span<const int64_t> places, const Use& use) {
  const MutexLock lock(mutex_);
  if (holds_all()) {
    if (!loaded_) load();
    return use_all<T>(places, use);
  }
  for (size_t first = 0; first < places.size();) {
    const auto piece = places.subspan(first, std::min(waiting_.size(), places.size() - first));
    const auto use_here = [&](size_t i, const T* number) { use(first + i, number); };
    const size_t done = find<T>(piece, use_here);
    read_missed([&](int32_t last, const std::byte* data) PLIMSOLL_REQUIRES(mutex_) {
      const auto* const page = reinterpret_cast<const T*>(data);
      for (int32_t i = last; i >= 0; i = waiting_[static_cast<size_t>(i)])
        use_here(static_cast<size_t>(i), page + (piece[static_cast<size_t>(i)] & (numbers_per_page() - 1)));
    });
    first += done;
  }
}

// Calls `use` for the numbers in memory and records the missing ones. Returns the number of places processed
// before the record was full.
template <typename T, typename Use>
size_t PageCache::find(std::span<const int64_t> places, const Use& use) {
  // Local copies, because the compiler must assume that `use` writes to the members.
  const int32_t* const slot_of = slot_of_.data();
  const T* const data = reinterpret_cast<const T*>(data_.data());
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const int shift = shift_;
  const int64_t within = numbers_per_page() - 1;
  const int64_t missed = counters_.misses;
  int64_t last_page = -1;
  size_t i = 0;
  for (; i < places.size(); ++i) {
    if (i + kAhead < places.size()) {
      const int64_t soon = places[i + kAhead];
      // Computed as an integer, because the address of a missing page would not be valid.
      const int64_t ahead = slot_of[soon >> shift] * (within + 1) + (soon & within);
      __builtin_prefetch(
          reinterpret_cast<const void*>(begin + static_cast<uintptr_t>(ahead) * sizeof(T)));  // NOLINT
    }
    const int64_t page = places[i] >> shift;
    const int32_t slot = slot_of[page];
    // Neighbour lists are read sequentially, so a list counts as one use.
    if (page != last_page) uses_.add(static_cast<int32_t>(page));
    last_page = page;
    if (slot >= 0) [[likely]]
      use(i, data + (slot * (within + 1) + (places[i] & within)));
    else if (!wait_for(static_cast<int32_t>(page), static_cast<int32_t>(i)))
      break;
  }
  counters_.hits += static_cast<int64_t>(i) - (counters_.misses - missed);
  return i;
}

template <typename T, typename Use>
void PageCache::use_all(std::span<const int64_t> places, const Use& use) {
  const T* const data = reinterpret_cast<const T*>(data_.data());
  for (size_t i = 0; i < places.size(); ++i) {
    if (i + kAhead < places.size()) __builtin_prefetch(data + places[i + kAhead]);
    use(i, data + places[i]);
  }
  counters_.hits += static_cast<int64_t>(places.size());
}

}  // namespace plimsoll
