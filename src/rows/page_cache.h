#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>

#include "io/row_reader.h"
#include "memory/mapped_bytes.h"
#include "rows/page_uses.h"

namespace plimsoll {

/// Numbers of equal length, one after the other in a file.
struct NumberLayout {
  int64_t offset = 0;  ///< of the first, in bytes, a multiple of number_bytes
  int64_t number_bytes = 0;
  int64_t count = 0;
  std::optional<FileIdentity> file = {};  ///< as in RowLayout
};

/// What a cache of pages has done so far.
struct PageCounters {
  int64_t hits = 0;           ///< numbers that were in memory
  int64_t misses = 0;         ///< numbers that were not
  int64_t pages_read = 0;     ///< to have them: each once a call
  int64_t bytes_read = 0;     ///< in the pieces that these pages were read in
  double waited_seconds = 0;  ///< for the disk

  PageCounters& operator+=(const PageCounters& more);
};

/// Single numbers of a file, of which as many pages stay in memory as a budget allows. A number that is there
/// costs a look into a table of all pages, 5 bytes for each, and no system call; pages that are missed are
/// read together, each once a call. Those stay that are used most (PageUses). Where there is room for all,
/// the first call reads the whole file, and then it is as fast as memory.
///
/// Any number of threads may call it at once; they take turns. Numbers are the same for every budget.
class PageCache {
 public:
  static constexpr int64_t kPageBytes = 4096;

  struct Options {
    std::optional<ReadMethod> way;    ///< choose_method() where none is given
    int64_t page_bytes = kPageBytes;  ///< a power of two, a multiple of number_bytes
  };

  /// Holds no page before resize(), but takes bytes_for(0) of Tag::cache. Errors: those of RowReader,
  /// UsageError for pages of another length.
  PageCache(const std::filesystem::path& path, const NumberLayout& layout, const Options& options);

  /// What it takes to hold `pages` pages, everything in it.
  int64_t bytes_for(int64_t pages) const { return fixed_bytes_ + pages * slot_bytes(); }
  int64_t min_bytes() const { return bytes_for(std::min<int64_t>(1, pages())); }
  int64_t max_bytes() const { return bytes_for(pages()); }
  int64_t pages() const { return reader_.layout().rows; }
  int64_t numbers_per_page() const { return int64_t{1} << shift_; }

  /// From now on holds as many pages as fit into these bytes. What it held is gone.
  /// Errors: UsageError for less than min_bytes(); BudgetExceeded (Tag::cache): it holds nothing then.
  void resize(int64_t bytes);

  /// Calls use(i, p) for each places[i], where p points to the number there and to those after it on its
  /// page. In any order, maybe on several threads at once; p ends with the call. `use` may not throw.
  /// Errors: those of RowReader::read(): not all were used then, and the cache can go on.
  template <typename T, typename Use>
  void read(std::span<const int64_t> places, const Use& use);

  PageCounters counters() const;

 private:
  static constexpr int32_t kNone = -1;   // in slot_of_; below that the page is missed_[-2 - it]
  static constexpr int32_t kTaken = -2;  // in page_of_: a page is on its way there
  static constexpr size_t kAhead = 16;   // numbers that are on their way from memory

  using Slots = Vector<int32_t, Tag::cache>;
  struct Missed {
    int32_t page = 0;
    int32_t last = 0;  // the last place of this call that waits for it: from there waiting_ goes on
    int32_t slot = kNone;
  };

  bool holds_all() const { return page_of_.size() == slot_of_.size(); }
  int64_t slot_bytes() const { return page_bytes_ + static_cast<int64_t>(sizeof(int32_t)); }
  template <typename T, typename Use>
  size_t find(std::span<const int64_t> places, const Use& use);
  template <typename T, typename Use>
  void use_all(std::span<const int64_t> places, const Use& use);
  bool wait_for(int32_t page, int32_t place);
  void read_missed(const std::function<void(int32_t, const std::byte*)>& use);
  void choose_slots();
  void load();

  RowReader reader_;
  int64_t page_bytes_;
  int shift_;
  int64_t fixed_bytes_;
  mutable std::mutex mutex_;
  Vector<int32_t, Tag::cache> slot_of_;  // of each page
  PageUses uses_;
  Vector<int32_t, Tag::cache> waiting_;  // of a place of a call, the one before it that waits for its page
  Vector<Missed, Tag::cache> missed_;    // pages of a call
  Vector<WantedRow, Tag::cache> wanted_;
  MappedBytes data_;     // [slots, page_bytes]
  Slots page_of_;        // [slots]
  size_t hand_ = 0;      // the slot that is looked at next
  bool loaded_ = false;  // the whole file is in data_, as it is there
  PageCounters counters_;
};

template <typename T, typename Use>
void PageCache::read(std::span<const int64_t> places, const Use& use) {
  const std::lock_guard lock(mutex_);
  if (holds_all()) {
    if (!loaded_) load();
    return use_all<T>(places, use);
  }
  for (size_t first = 0; first < places.size();) {
    const auto piece = places.subspan(first, std::min(waiting_.size(), places.size() - first));
    const auto use_here = [&](size_t i, const T* number) { use(first + i, number); };
    const size_t done = find<T>(piece, use_here);
    read_missed([&](int32_t last, const std::byte* data) {
      const auto* const page = reinterpret_cast<const T*>(data);
      for (int32_t i = last; i >= 0; i = waiting_[static_cast<size_t>(i)])
        use_here(static_cast<size_t>(i), page + (piece[static_cast<size_t>(i)] & (numbers_per_page() - 1)));
    });
    first += done;
  }
}

// Uses what is in memory and notes what is not. Returns for how many places there was room to note them.
template <typename T, typename Use>
size_t PageCache::find(std::span<const int64_t> places, const Use& use) {
  // Copies: what `use` writes could else be any of these.
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
      // As a number: of a page that is missed this is the address of nothing.
      const int64_t ahead = slot_of[soon >> shift] * (within + 1) + (soon & within);
      __builtin_prefetch(
          reinterpret_cast<const void*>(begin + static_cast<uintptr_t>(ahead) * sizeof(T)));  // NOLINT
    }
    const int64_t page = places[i] >> shift;
    const int32_t slot = slot_of[page];
    if (page != last_page) uses_.add(static_cast<int32_t>(page));  // a list of a node counts once
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
