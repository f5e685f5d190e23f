#include "memory/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace plimsoll {
namespace {

void raise_to(std::atomic<int64_t>& peak, int64_t value) {
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

const char* tag_name(Tag tag) {
  static constexpr std::array<const char*, kTags> kNames = {
      "ingest",     "output",    "columns",   "cache",       "blocks",
      "parameters", "gradients", "optimizer", "activations", "other"};
  return kNames[static_cast<size_t>(tag)];
}

BudgetExceeded::BudgetExceeded(Tag tag, int64_t asked, int64_t free, int64_t cap)
    : Error(4, fmt::format(
                   "out of budget: {} ({} bytes) asked for '{}', {} bytes free of {} bytes after the floor; "
                   "raise the budget by at least {}",
                   format_bytes(asked), asked, tag_name(tag), free, cap, format_bytes(asked - free))),
      tag_(tag),
      asked_(asked),
      free_(free) {}

BudgetExceeded::BudgetExceeded(const std::string& what, const BudgetExceeded& refusal)
    : Error(4, what + "; " + refusal.what()),
      tag_(refusal.tag_),
      asked_(refusal.asked_),
      free_(refusal.free_) {}

constinit thread_local Ledger::Promise Ledger::promise;

void Ledger::take(Tag tag, int64_t bytes) {
  if (promise.ledger == this)
    enter_in_promise(tag, bytes);
  else
    enter(tag, bytes, 0);
  Entry& entry = by_tag_[index(tag)];
  raise_to(entry.peak, entry.held.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

void Ledger::give(Tag tag, int64_t bytes) noexcept {
  by_tag_[index(tag)].held.fetch_sub(bytes, std::memory_order_relaxed);
  if (promise.ledger == this) {
    const int64_t back = std::min(bytes, promise.used);
    promise.used -= back;
    bytes -= back;  // the rest was taken before the reservation, or on another thread
  }
  if (bytes != 0) leave(bytes);
}

void Ledger::enter_in_promise(Tag tag, int64_t bytes) {
  Promise& mine = promise;
  const int64_t room = mine.bytes - mine.used;
  if (bytes > room) {
    enter(tag, bytes, room);
    mine.bytes += bytes - room;
    reserved_.fetch_add(bytes - room, std::memory_order_relaxed);
  }
  mine.used += bytes;
  mine.peak = std::max(mine.peak, mine.used);
}

// `room`: how many of the bytes stand in the sum already.
void Ledger::enter(Tag tag, int64_t bytes, int64_t room) {
  int64_t free = 0;
  if (!try_enter(bytes - room, free)) throw BudgetExceeded(tag, bytes, free + room, cap());
}

bool Ledger::add_spare(int64_t bytes) noexcept {
  if (bytes > cap() - held() - spare()) return false;
  spare_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

void Ledger::give_up_spare(int64_t coming) noexcept {
  if (spare() == 0 || coming <= cap() - held() - spare()) return;
  if (auto* const give_up = give_up_.load()) give_up();
}

bool Ledger::try_enter(int64_t bytes, int64_t& free) noexcept {
  give_up_spare(bytes);
  const int64_t limit = cap();
  int64_t before = held_.load();
  do {
    if (bytes > limit - before) {
      free = std::max<int64_t>(limit - before, 0);
      return false;
    }
  } while (!held_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  raise_to(peak_, before + bytes);
  raise_to(recent_peak_, before + bytes);
  return true;
}

void Ledger::leave(int64_t bytes) noexcept {
  // reserve() counts itself in and then looks at held_. In sequentially consistent order one sees the other.
  held_.fetch_sub(bytes);
  if (waiting_.load() > 0) wake();
}

void Ledger::set_cap(int64_t cap) {
  cap_.store(cap, std::memory_order_relaxed);
  give_up_spare(0);
  wake();
}

Ledger& Ledger::process() {
  // Never destroyed: tensors held by static objects are given back after main has returned.
  static Ledger* const ledger = new Ledger;
  return *ledger;
}

}  // namespace plimsoll
