#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "base/error.h"

namespace plimsoll {

/// What a buffer is for. Every buffer over a page is entered in the ledger under one of these.
enum class Tag : uint8_t {
  ingest,       ///< text, decompression windows and frames on their way to disk
  output,       ///< buffers of files being written
  columns,      ///< whole columns held in memory: vocabularies, shapes, permutations, scores
  cache,        ///< rows of files: a cache of them, what is planned of it, buffers they are read into
  blocks,       ///< blocks of graphs as they come from a BlockSource
  parameters,   ///< model parameters
  gradients,    ///< gradient sums
  optimizer,    ///< optimizer state
  activations,  ///< the slab: tensors of forward and backward, and gradients waiting for their turn
  other,        ///< anything torch allocates outside a tag's scope
};
inline constexpr int kTags = 10;
const char* tag_name(Tag tag);

/// Thrown when an entry would pass the cap: a typed, recoverable event, not the end of the process.
class BudgetExceeded : public Error {
 public:
  /// `free` is negative where more is held than `cap`.
  BudgetExceeded(Tag tag, int64_t asked, int64_t free, int64_t cap);
  /// The same refusal, with what became of it in front: "WHAT; out of budget: ...".
  BudgetExceeded(const std::string& what, const BudgetExceeded& refusal);
  Tag tag() const { return tag_; }
  int64_t bytes_asked() const { return asked_; }
  int64_t bytes_free() const { return std::max<int64_t>(free_, 0); }
  /// By how much the budget must grow at least, with what others in the process hold beyond it.
  int64_t bytes_missing() const { return asked_ - free_; }

 private:
  Tag tag_;
  int64_t asked_;
  int64_t free_;
};

/// The one book of memory: bytes taken under each tag, their high-water marks, and a hard cap on the sum.
/// Thread-safe; taking and giving are a few atomic operations and never wait.
class Ledger {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  explicit Ledger(int64_t cap = kUnlimited) : cap_(cap) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Enters bytes under a tag. Errors: BudgetExceeded, with nothing entered, if the sum would pass the cap.
  void take(Tag tag, int64_t bytes);
  /// Strikes out bytes that were taken under the same tag, by any thread.
  void give(Tag tag, int64_t bytes) noexcept;

  /// Bytes that nobody uses, such as freed memory that is kept for what comes: they count for the cap, and
  /// neither for held() nor for peaks. False, with nothing entered, if the sum would pass the cap.
  bool add_spare(int64_t bytes) noexcept;
  void remove_spare(int64_t bytes) noexcept { spare_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t spare() const { return spare_.load(std::memory_order_relaxed); }
  /// What gives up all that is spare: called, on any thread, where an entry finds no room beside it, or the
  /// cap falls.
  void on_short(void (*give_up)()) { give_up_.store(give_up); }

  /// The sum of what is taken.
  int64_t held() const { return held_.load(std::memory_order_relaxed); }
  int64_t held(Tag tag) const { return by_tag_[index(tag)].held.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  int64_t peak(Tag tag) const { return by_tag_[index(tag)].peak.load(std::memory_order_relaxed); }
  /// The high-water marks since begin_recent(), for measuring one piece of work.
  void begin_recent();
  int64_t recent_peak() const { return recent_peak_.load(std::memory_order_relaxed); }
  int64_t recent_peak(Tag tag) const { return by_tag_[index(tag)].recent.load(std::memory_order_relaxed); }
  /// Ends a piece of work within another: the mark of the outer one, which was `outer` when the inner one
  /// began, goes on from the higher of both. Those of tags stay the inner one's.
  void end_recent(int64_t outer) {
    if (recent_peak() < outer) recent_peak_.store(outer, std::memory_order_relaxed);
  }

  int64_t cap() const { return cap_.load(std::memory_order_relaxed); }
  /// A cap below what is held refuses every new entry and takes nothing away.
  void set_cap(int64_t cap);

  /// The book of this process: torch's tensors and our own buffers.
  static Ledger& process();

 private:
  static size_t index(Tag tag) { return static_cast<size_t>(tag); }
  struct Entry {
    std::atomic<int64_t> held{0};
    std::atomic<int64_t> peak{0};
    std::atomic<int64_t> recent{0};  // peak since begin_recent()
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
