#include "memory/slab.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll {

// Guarded by its mutex, but for what never changes.
struct SlabRange::State {
  State(Slab* owner, char* first_byte, int64_t bytes, bool may_grow)
      : slab(owner), base(first_byte), grows(may_grow), packing(bytes) {}

  Slab* slab;  // null: the slab is gone, these pieces are not
  char* const base;
  const bool grows;
  std::mutex mutex;
  Packing packing;
  bool ended = false;
};

namespace {

constexpr int64_t kPage = 4096;

thread_local SlabRange::State* current_range = nullptr;
thread_local int workspace_depth = 0;

int64_t round_up(int64_t bytes, int64_t to) {
  return (bytes + to - 1) / to * to;
}

bool is_empty(SlabRange::State& state) {
  const std::lock_guard lock(state.mutex);
  return state.ended && state.packing.in_use() == 0;
}

// Bytes that keep an ended range; -1 for one that has not ended.
int64_t outlived(SlabRange::State& state) {
  const std::lock_guard lock(state.mutex);
  return state.ended ? state.packing.in_use() : -1;
}

}  // namespace

SlabRange::SlabRange(SlabRange&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

SlabRange& SlabRange::operator=(SlabRange&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

SlabRange::~SlabRange() {
  if (state_ != nullptr) state_->slab->end_range(state_);
}

int64_t SlabRange::high() const {
  const std::lock_guard lock(state_->mutex);
  return state_->packing.high();
}

Slab::Slab() {
  void* base = MAP_FAILED;
  for (reserved_ = int64_t{1} << 42; base == MAP_FAILED && reserved_ > kMiB; reserved_ /= 2)
    base = mmap(nullptr, static_cast<size_t>(reserved_), PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw system_failure("cannot set addresses aside for", "the slab");
  reserved_ *= 2;
  base_ = static_cast<char*>(base);
}

Slab::~Slab() {
  const std::lock_guard lock(mutex_);
  forget_ended();
  if (ranges_.empty()) {
    munmap(base_, static_cast<size_t>(reserved_));
    Ledger::process().give(Tag::activations, bytes_);
    return;
  }
  for (std::unique_ptr<SlabRange::State>& state : ranges_) {
    const std::lock_guard state_lock(state->mutex);
    state.release()->slab = nullptr;
  }
}

void Slab::change_size(int64_t bytes) {
  char* const first = base_ + std::min(bytes, bytes_);
  const auto count = static_cast<size_t>(std::abs(bytes - bytes_));
  if (bytes > bytes_) {
    Ledger& ledger = Ledger::process();
    ledger.take(Tag::activations, bytes - bytes_);
    if (bytes > reserved_ || mprotect(first, count, PROT_READ | PROT_WRITE) != 0) {
      ledger.give(Tag::activations, bytes - bytes_);
      throw BudgetExceeded(Tag::activations, bytes - bytes_, 0, ledger.cap());
    }
  } else if (bytes < bytes_) {
    // A new mapping of the same addresses: the pages go back, and the system no longer counts them as data.
    if (mmap(first, count, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
        MAP_FAILED)
      return;
    Ledger::process().give(Tag::activations, bytes_ - bytes);
  }
  bytes_ = bytes;
}

void Slab::resize(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  forget_ended();
  if (!ranges_.empty()) throw Failure("a slab cannot change its size while blocks use it");
  change_size(round_up(bytes, kPage));
}

void Slab::forget_ended() noexcept {
  while (!ranges_.empty() && is_empty(*ranges_.front())) ranges_.pop_front();
}

void Slab::wait_for_older(std::unique_lock<std::mutex>& lock) {
  int64_t kept = 0;
  for (const auto& state : ranges_) {
    const int64_t bytes = outlived(*state);
    if (bytes < 0) {
      changed_.wait(lock);
      forget_ended();
      return;
    }
    kept += bytes;
  }
  forget_ended();  // some may have ended since the caller looked
  if (kept == 0 || ranges_.empty()) return;
  throw Failure(
      fmt::format("{} of tensors outlive the blocks they were made in, so their memory cannot be "
                  "used again; a model must not keep what it computes",
                  format_bytes(kept)));
}

// Behind the newest range, or at the start when that is free; -1 while older ranges are in the way.
int64_t Slab::find_room(int64_t bytes) const {
  if (ranges_.empty()) return bytes <= bytes_ ? 0 : -1;
  const int64_t oldest = ranges_.front()->base - base_;
  const SlabRange::State& newest = *ranges_.back();
  const int64_t begin = newest.base - base_ + newest.packing.capacity();
  const bool wrapped = newest.base < ranges_.front()->base;
  if (bytes <= (wrapped ? oldest : bytes_) - begin) return begin;
  return !wrapped && bytes <= oldest ? 0 : -1;
}

SlabRange Slab::take(int64_t bytes) {
  std::unique_lock lock(mutex_);
  const int64_t size = round_up(bytes, Packing::kAlignment);
  forget_ended();
  if (size > bytes_) throw BudgetExceeded(Tag::activations, size, bytes_, Ledger::process().cap());
  int64_t begin = find_room(size);
  for (; begin < 0; begin = find_room(size)) wait_for_older(lock);
  ranges_.push_back(std::make_unique<SlabRange::State>(this, base_ + begin, size, false));
  return SlabRange(ranges_.back().get());
}

SlabRange Slab::take_all() {
  std::unique_lock lock(mutex_);
  forget_ended();
  while (!ranges_.empty()) wait_for_older(lock);
  ranges_.push_back(std::make_unique<SlabRange::State>(this, base_, bytes_, true));
  return SlabRange(ranges_.back().get());
}

void Slab::end_range(SlabRange::State* state) noexcept {
  {
    const std::lock_guard lock(state->mutex);
    state->ended = true;
  }
  const std::lock_guard lock(mutex_);
  forget_ended();
  changed_.notify_all();
}

SlabPiece Slab::take_piece(int64_t bytes) {
  SlabRange::State* const state = current_range;
  if (state == nullptr) return {};
  std::unique_lock lock(state->mutex);
  int64_t place = state->packing.take(bytes);
  if (place < 0 && state->grows) {
    lock.unlock();  // the slab's mutex comes first everywhere
    Slab& slab = *state->slab;
    const std::lock_guard slab_lock(slab.mutex_);
    lock.lock();
    slab.change_size(slab.bytes_ + round_up(state->packing.missing(bytes), kPage));
    state->packing.grow(slab.bytes_);
    place = state->packing.take(bytes);
  }
  if (place < 0) {
    state->slab->overflows_.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  return {state->base + place, bytes, state};
}

void Slab::give_piece(const SlabPiece& piece) noexcept {
  SlabRange::State& state = *piece.owner;
  Slab* slab = nullptr;
  {
    const std::lock_guard lock(state.mutex);
    state.packing.give(static_cast<char*>(piece.data) - state.base, piece.bytes);
    if (state.ended && state.packing.in_use() == 0) slab = state.slab;
  }
  if (slab == nullptr) return;
  const std::lock_guard lock(slab->mutex_);
  slab->forget_ended();
  slab->changed_.notify_all();
}

RangeScope::RangeScope(const SlabRange& range) : before_(std::exchange(current_range, range.state_)) {}

RangeScope::~RangeScope() {
  current_range = before_;
}

WorkspaceScope::WorkspaceScope() {
  ++workspace_depth;
}

WorkspaceScope::~WorkspaceScope() {
  --workspace_depth;
}

bool WorkspaceScope::inside() {
  return workspace_depth > 0;
}

}  // namespace plimsoll
