#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

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
  BudgetExceeded(Tag tag, int64_t asked, int64_t free, int64_t cap);
  /// The same refusal, with what became of it in front: "WHAT; out of budget: ...".
  BudgetExceeded(const std::string& what, const BudgetExceeded& refusal);
  Tag tag() const { return tag_; }
  int64_t bytes_asked() const { return asked_; }
  int64_t bytes_free() const { return free_; }

 private:
  Tag tag_;
  int64_t asked_;
  int64_t free_;
};

class Reservation;

/// The one book of memory: bytes taken under each tag, bytes promised to reservations, their high-water
/// marks, and a hard cap on the sum.
/// Thread-safe; taking and giving are a few atomic operations and never wait; reserve() may.
class Ledger {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  explicit Ledger(int64_t cap = kUnlimited) : cap_(cap) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Enters bytes under a tag: out of the calling thread's reservation if it has one here, else out of what
  /// is free. Throws BudgetExceeded, with nothing entered, if the sum would pass the cap.
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

  /// Promises bytes to the calling thread. Waits, first come, first served, as long as other reservations
  /// live; not for memory taken outside them alone, which nobody has promised to give back. `tag` names the
  /// purpose in a refusal; each piece is entered under its own.
  /// Errors: BudgetExceeded, at once if the bytes exceed the cap, else when this thread is first, no other
  /// reservation lives and the bytes are not free; bytes_free() is what is free without any reservation.
  /// Failure if the thread has a reservation already.
  Reservation reserve(Tag tag, int64_t bytes);
  /// The same; none if `stop` is requested before the bytes are free.
  std::optional<Reservation> reserve(Tag tag, int64_t bytes, const std::stop_token& stop);
  /// The same without waiting: none if the bytes are not free, or others wait. Errors: Failure, as above.
  std::optional<Reservation> try_reserve(int64_t bytes);

  /// The sum: what is taken, and what is promised and not yet taken.
  int64_t held() const { return held_.load(std::memory_order_relaxed); }
  /// What is promised to the reservations that live, taken or not.
  int64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  /// How many threads wait in reserve().
  int64_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  int64_t held(Tag tag) const { return by_tag_[index(tag)].held.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  int64_t peak(Tag tag) const { return by_tag_[index(tag)].peak.load(std::memory_order_relaxed); }
  /// The high-water mark since begin_recent(), for measuring one piece of work.
  void begin_recent() { recent_peak_.store(held(), std::memory_order_relaxed); }
  int64_t recent_peak() const { return recent_peak_.load(std::memory_order_relaxed); }
  /// Ends a piece of work within another: the mark of the outer one, which was `outer` when the inner one
  /// began, goes on from the higher of both.
  void end_recent(int64_t outer) {
    if (recent_peak() < outer) recent_peak_.store(outer, std::memory_order_relaxed);
  }

  int64_t cap() const { return cap_.load(std::memory_order_relaxed); }
  /// A cap below what is held refuses every new entry and takes nothing away.
  void set_cap(int64_t cap);

  /// The book of this process: torch's tensors and our own buffers.
  static Ledger& process();

 private:
  friend class Reservation;
  static size_t index(Tag tag) { return static_cast<size_t>(tag); }
  struct Entry {
    std::atomic<int64_t> held{0};
    std::atomic<int64_t> peak{0};
  };

  /// The reservation of a thread. used <= bytes; the difference stands in held_ without being taken.
  struct Promise {
    Ledger* ledger = nullptr;  // none: the thread has no reservation
    int64_t bytes = 0;
    int64_t used = 0;
    int64_t peak = 0;
  };
  static constinit thread_local Promise promise;

  bool try_enter(int64_t bytes, int64_t& free) noexcept;
  void give_up_spare(int64_t coming) noexcept;
  void enter(Tag tag, int64_t bytes, int64_t room);
  void enter_in_promise(Tag tag, int64_t bytes);
  void leave(int64_t bytes) noexcept;
  void wake() noexcept;
  static void require_no_promise();
  Reservation begin_promise(int64_t bytes);

  std::atomic<int64_t> held_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> recent_peak_{0};
  std::atomic<int64_t> spare_{0};
  std::atomic<void (*)()> give_up_{nullptr};
  std::atomic<int64_t> cap_;
  std::atomic<int64_t> reserved_{0};
  std::atomic<int64_t> waiting_{0};  // the length of line_
  std::array<Entry, kTags> by_tag_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::thread::id> line_;  // guarded by mutex_; who waits, in the order of arrival
  int64_t promises_ = 0;              // guarded by mutex_; how many reservations live
};

}  // namespace plimsoll
