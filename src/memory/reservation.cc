#include "memory/reservation.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace plimsoll {

Reservation Ledger::reserve(Tag tag, int64_t bytes) {
  return *reserve(tag, bytes, std::stop_token());
}

std::optional<Reservation> Ledger::reserve(Tag tag, int64_t bytes, const std::stop_token& stop) {
  require_no_promise();  // so that those who are waited for do not wait here themselves
  const std::thread::id me = std::this_thread::get_id();
  int64_t free = 0;
  bool entered = false;
  const auto decide = [&] {
    if (bytes > cap()) {
      free = std::clamp<int64_t>(cap() - held() + reserved(), 0, cap());
      return true;
    }
    if (line_.front() != me) return false;
    entered = try_enter(bytes, free);
    return entered || promises_ == 0;
  };

  std::unique_lock lock(mutex_);
  line_.push_back(me);
  ++waiting_;
  const bool decided = changed_.wait(lock, stop, decide);
  std::erase(line_, me);
  --waiting_;
  changed_.notify_all();  // another is first now
  if (entered) return begin_promise(bytes);
  if (decided) throw BudgetExceeded(tag, bytes, free, cap());
  return std::nullopt;
}

std::optional<Reservation> Ledger::try_reserve(int64_t bytes) {
  require_no_promise();
  const std::lock_guard lock(mutex_);
  int64_t free = 0;
  if (!line_.empty() || !try_enter(bytes, free)) return std::nullopt;
  return begin_promise(bytes);
}

void Ledger::require_no_promise() {
  if (promise.ledger != nullptr) throw Failure("this thread has a reservation already: grow it instead");
}

Reservation Ledger::begin_promise(int64_t bytes) {
  ++promises_;
  reserved_.fetch_add(bytes, std::memory_order_relaxed);
  promise = {.ledger = this, .bytes = bytes};
  return Reservation(&promise);
}

void Ledger::wake() noexcept {
  { const std::lock_guard between_a_look_and_a_wait(mutex_); }
  changed_.notify_all();
}

void Reservation::grow(Tag tag, int64_t bytes) {
  Ledger& ledger = *promise_->ledger;
  ledger.enter(tag, bytes, 0);
  ledger.reserved_.fetch_add(bytes, std::memory_order_relaxed);
  promise_->bytes += bytes;
}

void Reservation::End::operator()(Ledger::Promise* promise) const noexcept {
  if (promise != &Ledger::promise) std::terminate();  // its own thread may be using it
  Ledger& ledger = *std::exchange(promise->ledger, nullptr);
  const std::lock_guard lock(ledger.mutex_);
  ledger.held_.fetch_sub(promise->bytes - promise->used);
  ledger.reserved_.fetch_sub(promise->bytes, std::memory_order_relaxed);
  --ledger.promises_;
  ledger.changed_.notify_all();
}

}  // namespace plimsoll
