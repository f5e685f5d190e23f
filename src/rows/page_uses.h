#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/vector.h"

namespace plimsoll {

/// Approximate counts of recent uses of each page of a file, one byte per page. All counts are halved after
/// kUses uses per page on average. Pages that were used often in the past therefore do not stay forever, and
/// a pass over the whole file does not evict pages that are used repeatedly (Einziger, Friedman and Manes,
/// "TinyLFU: a highly efficient cache admission policy", ACM TOS 13(4), 2017). Not thread-safe.
class PageUses {
 public:
  static constexpr int64_t kUses = 16;
  static constexpr int64_t bytes_for(int64_t pages) { return pages; }

  explicit PageUses(int64_t pages) : counts_(static_cast<size_t>(pages), uint8_t{0}), left_(pages * kUses) {}

  void add(int32_t page) {
    uint8_t& count = counts_[static_cast<size_t>(page)];
    count = static_cast<uint8_t>(count + (count < UINT8_MAX));
    if (--left_ == 0) halve();
  }
  uint8_t operator[](int32_t page) const { return counts_[static_cast<size_t>(page)]; }

 private:
  void halve() {
    for (uint8_t& count : counts_) count = static_cast<uint8_t>(count / 2);
    left_ = static_cast<int64_t>(counts_.size()) * kUses;
  }

  Vector<uint8_t, Tag::cache> counts_;
  int64_t left_;
};

}  // namespace plimsoll
