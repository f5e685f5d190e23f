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
    : Error(4,
            fmt::format(
                "out of budget: {} ({} bytes) requested for '{}', {} bytes free of {} bytes after the floor; "
                "raise the budget by at least {}; more may be missing after that",
                format_bytes(asked), asked, tag_name(tag), std::max<int64_t>(free, 0),
                std::max<int64_t>(cap, 0), format_bytes(asked - free))),
      tag_(tag),
      asked_(asked),
      free_(free) {}

BudgetExceeded::BudgetExceeded(const std::string& what, const BudgetExceeded& refusal)
    : Error(4, what + "; " + refusal.what()),
      tag_(refusal.tag_),
      asked_(refusal.asked_),
      free_(refusal.free_) {}

void Ledger::take(Tag tag, int64_t bytes) {
  give_up_spare(bytes);
  const int64_t limit = cap();
  int64_t before = held_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit - before) throw BudgetExceeded(tag, bytes, limit - before, limit);
  } while (!held_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  raise_to(peak_, before + bytes);
  raise_to(recent_peak_, before + bytes);
  Entry& entry = by_tag_[index(tag)];
  const int64_t held = entry.held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  raise_to(entry.peak, held);
  raise_to(entry.recent, held);
}

void Ledger::give(Tag tag, int64_t bytes) noexcept {
  by_tag_[index(tag)].held.fetch_sub(bytes, std::memory_order_relaxed);
  held_.fetch_sub(bytes, std::memory_order_relaxed);
}

void Ledger::begin_recent() {
  recent_peak_.store(held(), std::memory_order_relaxed);
  for (Entry& entry : by_tag_)
    entry.recent.store(entry.held.load(std::memory_order_relaxed), std::memory_order_relaxed);
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

void Ledger::set_cap(int64_t cap) {
  cap_.store(cap, std::memory_order_relaxed);
  give_up_spare(0);
}

Ledger& Ledger::process() {
  // Never destroyed: tensors held by static objects are given back after main has returned.
  static Ledger* const ledger = new Ledger;
  return *ledger;
}

}  // namespace plimsoll
