#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "base/error.h"

namespace plimsoll {

/// The purpose of a buffer. Every buffer over a page is entered in the ledger under one of these.
enum class Tag : uint8_t {
  ingest,       ///< Text, buffers of decompressors and rows on their way to disk.
  output,       ///< Buffers of files being written.
  columns,      ///< Whole columns held in memory: vocabularies, shapes, permutations, scores.
  cache,        ///< Rows of files: a cache of them, its index, and the buffers they are read into.
  blocks,       ///< Blocks of graphs that a BlockSource returns.
  parameters,   ///< Model parameters.
  gradients,    ///< Gradient sums.
  optimizer,    ///< Optimizer state.
  activations,  ///< The slab: tensors of forward and backward, and gradients waiting to be added.
  other,        ///< Memory that torch allocates outside the scope of any other tag.
};
inline constexpr int kTags = 10;
const char* tag_name(Tag tag);

/// Thrown if an entry would exceed the cap. The error is recoverable.
class BudgetExceeded : public Error {
 public:
  /// `asked`, `free` and `cap` are bytes. `free` is negative if more than `cap` is held.
  BudgetExceeded(Tag tag, int64_t asked, int64_t free, int64_t cap);
  /// Repeats a refusal with its consequence as a prefix: "WHAT; out of budget: ...".
  BudgetExceeded(const std::string& what, const BudgetExceeded& refusal);
  Tag tag() const { return tag_; }
  int64_t bytes_asked() const { return asked_; }
  int64_t bytes_free() const { return std::max<int64_t>(free_, 0); }
  /// Minimum bytes by which the budget must grow, including what other code in the process holds beyond it.
  int64_t bytes_missing() const { return asked_ - free_; }

 private:
  Tag tag_;
  int64_t asked_;
  int64_t free_;
};

/// Counts memory: the bytes entered under each tag and their high-water marks. Enforces a hard cap on the
/// sum. Thread-safe. take() and give() need a few atomic operations and never wait, except that take() calls
/// the function of on_short() if spare memory is in the way.
class Ledger {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  explicit Ledger(int64_t cap = kUnlimited) : cap_(cap) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Enters bytes under a tag. Errors: BudgetExceeded, with nothing entered, if the sum would exceed the cap.
  /// Spare memory may then have been freed.
  void take(Tag tag, int64_t bytes);
  /// Removes bytes that any thread entered under the same tag.
  void give(Tag tag, int64_t bytes) noexcept;

  /// Enters freed memory kept for reuse. It counts against the cap but not in held() or the peaks. Returns
  /// false, with nothing entered, if the sum would exceed the cap.
  bool add_spare(int64_t bytes) noexcept;
  void remove_spare(int64_t bytes) noexcept { spare_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t spare() const { return spare_.load(std::memory_order_relaxed); }
  /// Sets the function that frees all spare memory, in place of an earlier one. It is called on any thread,
  /// and possibly on several at once, when an entry does not fit next to the spare memory, or when the cap
  /// falls below held() plus the spare memory. It must not enter memory or throw.
  void on_short(void (*give_up)()) { give_up_.store(give_up); }

  /// The sum of all entries.
  int64_t held() const { return held_.load(std::memory_order_relaxed); }
  int64_t held(Tag tag) const { return by_tag_[index(tag)].held.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  int64_t peak(Tag tag) const { return by_tag_[index(tag)].peak.load(std::memory_order_relaxed); }
  /// Resets the high-water marks that recent_peak() returns to the bytes held now, at the start of some work.
  void begin_recent();
  int64_t recent_peak() const { return recent_peak_.load(std::memory_order_relaxed); }
  int64_t recent_peak(Tag tag) const { return by_tag_[index(tag)].recent.load(std::memory_order_relaxed); }
  /// Ends work that ran within other work. `outer` is the mark of the outer work from before the inner work.
  /// The mark continues from the higher of `outer` and the inner work's mark. The marks of tags stay those of
  /// the inner work.
  void end_recent(int64_t outer) {
    if (recent_peak() < outer) recent_peak_.store(outer, std::memory_order_relaxed);
  }

  int64_t cap() const { return cap_.load(std::memory_order_relaxed); }
  /// Sets the cap, in bytes. A cap below held() refuses every new entry. Frees spare memory that exceeds the
  /// cap, but no entries.
  void set_cap(int64_t cap);

  /// The ledger of this process, for torch's tensors and Plimsoll's own buffers.
  static Ledger& process();

 private:
  static size_t index(Tag tag) { return static_cast<size_t>(tag); }
  struct Entry {
    std::atomic<int64_t> held{0};
    std::atomic<int64_t> peak{0};
    std::atomic<int64_t> recent{0};  // Peak since begin_recent().
  };

  void give_up_spare(int64_t coming) noexcept;

  std::atomic<int64_t> held_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> recent_peak_{0};
  std::atomic<int64_t> spare_{0};
  std::atomic<void (*)()> give_up_{nullptr};
  std::atomic<int64_t> cap_;
  std::array<Entry, kTags> by_tag_;
};

}  // namespace plimsoll
