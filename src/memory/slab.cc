#include "memory/slab.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/error.h"
#include "base/mutex.h"
#include "base/units.h"

namespace plimsoll {

// The memory that a slab shares with its ranges. It is freed when all of them are gone.
struct SlabRing {
  SlabRing();
  ~SlabRing();
  SlabRing(const SlabRing&) = delete;
  SlabRing& operator=(const SlabRing&) = delete;

  char* base = nullptr;
  int64_t reserved = 0;  // Bytes of addresses after base.
  Mutex mutex;
  ConditionVariable changed;
  int64_t bytes PLIMSOLL_GUARDED_BY(mutex) = 0;  // Bytes after base that may be used and are in the ledger.
  std::deque<std::unique_ptr<SlabRange::State>> ranges PLIMSOLL_GUARDED_BY(mutex);  // Oldest first.

  void forget_ended() noexcept PLIMSOLL_REQUIRES(mutex);
  void change_size(int64_t size) PLIMSOLL_REQUIRES(mutex);
  void wait_for_older() PLIMSOLL_REQUIRES(mutex);
  int64_t find_room(int64_t size) PLIMSOLL_REQUIRES(mutex);
};

struct SlabRange::State {
  State(Slab* owner, std::shared_ptr<SlabRing> its_ring, char* first_byte, int64_t bytes, bool may_grow,
        std::span<const PlannedAllocation> plan)
      : slab(owner), ring(std::move(its_ring)), base(first_byte), grows(may_grow), packing(bytes, plan) {}

  Slab* slab PLIMSOLL_GUARDED_BY(mutex);  // Null if the slab is gone and pieces remain.
  const std::shared_ptr<SlabRing> ring;
  char* const base;
  const bool grows;
  Mutex mutex;
  Packing packing PLIMSOLL_GUARDED_BY(mutex);
  // The workspace of the running operator; 0 bytes if none is running.
  PlannedAllocation workspace PLIMSOLL_GUARDED_BY(mutex);
  Packing short_lived PLIMSOLL_GUARDED_BY(mutex) = Packing(0);  // Places in the workspace.
  std::unique_ptr<TapeRecorder> recorder PLIMSOLL_GUARDED_BY(mutex);
  bool ended PLIMSOLL_GUARDED_BY(mutex) = false;

  bool holds_workspace(int64_t place) const PLIMSOLL_REQUIRES(mutex) {
    return place >= workspace.place && place < workspace.place + workspace.bytes;
  }
  // Returns a place for `room` bytes, or -1.
  int64_t take(int64_t room) PLIMSOLL_REQUIRES(mutex) {
    if (workspace.bytes > 0) {
      const int64_t place = short_lived.take(room);
      if (place >= 0) return workspace.place + place;
      packing.leave_plan();
    }
    return packing.take(room);
  }
  // Adds a piece to the tape, or gives its place back if the tape is refused memory.
  void record(int64_t place, int64_t bytes, int64_t room) PLIMSOLL_REQUIRES(mutex) {
    try {
      recorder->take(place, bytes, room);
    } catch (...) {
      give_place(place, room);
      throw;
    }
  }
  void give(int64_t place, int64_t room) PLIMSOLL_REQUIRES(mutex) {
    if (recorder) recorder->give(place);
    give_place(place, room);
  }
  void give_place(int64_t place, int64_t room) PLIMSOLL_REQUIRES(mutex) {
    if (holds_workspace(place))
      short_lived.give(place - workspace.place, room);
    else
      packing.give(place, room);
  }
};

namespace {

constexpr int64_t kPage = 4096;

thread_local SlabRange::State* current_range = nullptr;
thread_local int workspace_depth = 0;
thread_local WorkspaceListener* workspace_listener = nullptr;

int64_t round_up(int64_t bytes, int64_t to) {
  return (bytes + to - 1) / to * to;
}

bool is_empty(SlabRange::State& state) {
  const MutexLock lock(state.mutex);
  return state.ended && state.packing.in_use() == 0;
}

// Returns the bytes of the pieces that keep an ended range alive, or -1 for a range that has not ended.
int64_t outlived(SlabRange::State& state) {
  const MutexLock lock(state.mutex);
  return state.ended ? state.packing.in_use() : -1;
}

// Removes an ended range from the ring. Without a ring, the slab no longer exists and only the pieces keep
// the range alive.
void let_go(SlabRange::State* state, const std::shared_ptr<SlabRing>& ring) noexcept {
  if (!ring) {
    delete state;
    return;
  }
  const MutexLock lock(ring->mutex);
  ring->forget_ended();
  ring->changed.notify_all();
}

}  // namespace

SlabRange::SlabRange(SlabRange&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

SlabRange& SlabRange::operator=(SlabRange&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

SlabRange::~SlabRange() {
  if (state_ != nullptr) Slab::end_range(state_);
}

int64_t SlabRange::high() const {
  const MutexLock lock(state_->mutex);
  return state_->packing.high();
}

void SlabRange::record() {
  const MutexLock lock(state_->mutex);
  state_->recorder = std::make_unique<TapeRecorder>();
}

Tape SlabRange::tape() const {
  const MutexLock lock(state_->mutex);
  return state_->recorder ? state_->recorder->tape : Tape();
}

SlabRing::SlabRing() {
  void* first = MAP_FAILED;
  for (reserved = int64_t{1} << 42; first == MAP_FAILED && reserved > kMiB; reserved /= 2)
    first = mmap(nullptr, static_cast<size_t>(reserved), PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (first == MAP_FAILED) throw system_failure("cannot reserve addresses for", "the slab");
  reserved *= 2;
  base = static_cast<char*>(first);
}

SlabRing::~SlabRing() {
  munmap(base, static_cast<size_t>(reserved));
  Ledger::process().give(Tag::activations, bytes);
}

Slab::Slab() : ring_(std::make_shared<SlabRing>()) {}

Slab::~Slab() {
  const MutexLock lock(ring_->mutex);
  for (std::unique_ptr<SlabRange::State>& state : ring_->ranges) {
    const MutexLock state_lock(state->mutex);
    // The thread that gave back the last piece of this range is waiting for the ring, and will find it empty.
    if (state->ended && state->packing.in_use() == 0) continue;
    state.release()->slab = nullptr;
  }
  ring_->ranges.clear();
}

int64_t Slab::bytes() const {
  const MutexLock lock(ring_->mutex);
  return ring_->bytes;
}

void SlabRing::change_size(int64_t size) {
  char* const first = base + std::min(size, bytes);
  const auto count = static_cast<size_t>(std::abs(size - bytes));
  if (size > bytes) {
    Ledger& ledger = Ledger::process();
    ledger.take(Tag::activations, size - bytes);
    if (size > reserved || mprotect(first, count, PROT_READ | PROT_WRITE) != 0) {
      ledger.give(Tag::activations, size - bytes);
      throw BudgetExceeded(Tag::activations, size - bytes, 0, ledger.cap());
    }
    // Allocates the pages now, so that no page is requested during a step. Before Linux 5.14, pages are
    // allocated when touched.
    madvise(first, count, MADV_POPULATE_WRITE);
  } else if (size < bytes) {
    // Mapping the same addresses again returns the pages, and the system no longer counts them as data.
    if (mmap(first, count, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
        MAP_FAILED)
      return;
    Ledger::process().give(Tag::activations, bytes - size);
  }
  bytes = size;
}

void Slab::resize(int64_t bytes) {
  const MutexLock lock(ring_->mutex);
  ring_->forget_ended();
  if (!ring_->ranges.empty()) throw Failure("a slab cannot change its size while blocks use it");
  ring_->change_size(round_up(bytes, kPage));
}

void SlabRing::forget_ended() noexcept {
  while (!ranges.empty() && is_empty(*ranges.front())) ranges.pop_front();
}

void SlabRing::wait_for_older() {
  int64_t kept = 0;
  for (const auto& state : ranges) {
    const int64_t outliving = outlived(*state);
    if (outliving < 0) {
      changed.wait(mutex);
      forget_ended();
      return;
    }
    kept += outliving;
  }
  forget_ended();  // Some ranges may have ended since the caller looked.
  if (kept == 0 || ranges.empty()) return;
  throw Failure(
      fmt::format("{} of tensors outlive the blocks in which they were made, so their memory cannot be "
                  "reused; a model must not keep its results",
                  format_bytes(kept)));
}

// Returns a place after the newest range, or at the start if that is free; -1 while older ranges are in the
// way.
int64_t SlabRing::find_room(int64_t size) {
  if (ranges.empty()) return size <= bytes ? 0 : -1;
  const int64_t oldest = ranges.front()->base - base;
  SlabRange::State& newest = *ranges.back();
  const MutexLock lock(newest.mutex);
  const int64_t begin = newest.base - base + newest.packing.capacity();
  const bool wrapped = newest.base < ranges.front()->base;
  if (size <= (wrapped ? oldest : bytes) - begin) return begin;
  return !wrapped && size <= oldest ? 0 : -1;
}

SlabRange Slab::take(const RangePlan& plan) {
  const MutexLock lock(ring_->mutex);
  const int64_t size = round_up(plan.bytes, Packing::kAlignment);
  ring_->forget_ended();
  if (size > ring_->bytes)
    throw BudgetExceeded(Tag::activations, size, ring_->bytes, Ledger::process().cap());
  int64_t begin = ring_->find_room(size);
  for (; begin < 0; begin = ring_->find_room(size)) ring_->wait_for_older();
  ring_->ranges.push_back(
      std::make_unique<SlabRange::State>(this, ring_, ring_->base + begin, size, false, plan.pieces));
  return SlabRange(ring_->ranges.back().get());
}

SlabRange Slab::take_all(const RangePlan& plan) {
  const MutexLock lock(ring_->mutex);
  ring_->forget_ended();
  while (!ring_->ranges.empty()) ring_->wait_for_older();
  if (plan.bytes > ring_->bytes) ring_->change_size(round_up(plan.bytes, kPage));
  ring_->ranges.push_back(
      std::make_unique<SlabRange::State>(this, ring_, ring_->base, ring_->bytes, true, plan.pieces));
  return SlabRange(ring_->ranges.back().get());
}

void Slab::end_range(SlabRange::State* state) noexcept {
  std::shared_ptr<SlabRing> ring;
  {
    const MutexLock lock(state->mutex);
    state->ended = true;
    if (state->slab != nullptr) {
      ring = state->ring;
      if (state->packing.left_plan()) state->slab->unforeseen_.fetch_add(1, std::memory_order_relaxed);
    } else if (state->packing.in_use() > 0) {
      return;  // Giving back the last piece will free the range.
    }
  }
  let_go(state, ring);
}

SlabAllocation Slab::take_piece(int64_t bytes) {
  SlabRange::State* const state = current_range;
  if (state == nullptr) return {};
  const int64_t room = bytes == 0 ? 0 : bytes + kTensorHeader;
  MutexLock lock(state->mutex);
  int64_t place = state->take(room);
  if (place < 0 && state->grows) {
    lock.unlock();  // Lock order: the slab's mutex comes before that of a range.
    SlabRing& ring = *state->ring;
    const MutexLock ring_lock(ring.mutex);
    lock.lock();
    ring.change_size(ring.bytes + round_up(state->packing.missing(room), kPage));
    state->packing.grow(ring.bytes);
    place = state->packing.take(room);
  }
  if (place < 0) {
    state->slab->overflows_.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  if (state->recorder) state->record(place, bytes, room);
  if (bytes == 0) return {};
  return {state->base + place, room, state};
}

void Slab::give_piece(const SlabAllocation& piece) noexcept {
  SlabRange::State* const state = piece.owner;
  // Keeps the ring alive, because another thread may destroy the slab once the state is unlocked.
  std::shared_ptr<SlabRing> ring;
  {
    const MutexLock lock(state->mutex);
    state->give(static_cast<char*>(piece.data) - state->base, piece.bytes);
    if (!state->ended || state->packing.in_use() > 0) return;
    if (state->slab != nullptr) ring = state->ring;
  }
  let_go(state, ring);
}

RangeScope::RangeScope(const SlabRange& range) : before_(std::exchange(current_range, range.state_)) {}

RangeScope::~RangeScope() {
  current_range = before_;
}

WorkspaceScope::WorkspaceScope() {
  if (workspace_depth++ > 0) return;
  if (workspace_listener != nullptr) workspace_listener->begin_workspace();
  if (current_range == nullptr) {
    recorder_ = TapeScope::current();
    if (recorder_ != nullptr) recorder_->begin_workspace();
    return;
  }
  range_ = current_range;
  const MutexLock lock(range_->mutex);
  if (range_->recorder) range_->recorder->begin_workspace();
  range_->workspace = range_->packing.take_workspace();
  range_->short_lived = Packing(range_->workspace.bytes);
}

WorkspaceScope::~WorkspaceScope() {
  if (--workspace_depth == 0 && workspace_listener != nullptr) workspace_listener->end_workspace();
  if (recorder_ != nullptr) recorder_->end_workspace();
  if (range_ == nullptr) return;
  const MutexLock lock(range_->mutex);
  if (range_->recorder) range_->recorder->end_workspace();
  const PlannedAllocation workspace = std::exchange(range_->workspace, {});
  if (workspace.bytes > 0 && range_->short_lived.in_use() == 0)
    range_->packing.give(workspace.place, workspace.bytes);
}

void WorkspaceScope::set_listener(WorkspaceListener* listener) {
  workspace_listener = listener;
}

bool WorkspaceScope::inside() {
  return workspace_depth > 0;
}

}  // namespace plimsoll
