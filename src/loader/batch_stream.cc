#include "loader/batch_stream.h"

#include <fmt/format.h>
#include <unistd.h>

#include <deque>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/units.h"
#include "memory/ledger.h"
#include "memory/shrinker.h"

namespace plimsoll {

class BatchStream::State {
 public:
  State(std::unique_ptr<BatchMaker> maker, int64_t first, int64_t ahead, std::shared_ptr<BatchMemory> memory)
      : memory_(std::move(memory)), maker_(std::move(maker)), ahead_(ahead), position_(first) {
    if (ahead_ == 0) return;
    keeping_.emplace(*memory_);
    relief_.emplace([this] { give_up(); });
  }

  ~State() {
    relief_.reset();
    if (thread_.joinable()) {
      thread_.request_stop();
      thread_.join();
    }
  }

  std::optional<CollatedBatch> next() {
    const MutexLock turn(turn_);
    const MutexLock lock(mutex_);
    changed_.wait(mutex_, [&]() PLIMSOLL_REQUIRES(mutex_) { return !ready_.empty() || !making_; });
    if (position_ == size()) return std::nullopt;
    CollatedBatch batch;
    if (!ready_.empty()) {
      batch = std::move(ready_.front());
      ready_.pop_front();
    } else {
      resting_ = true;  // Keeps the thread from starting the same batch.
      batch = make_now();
    }
    for (BatchBuffer& tensor : batch.tensors) tensor.deliver();
    ++position_;
    resting_ = false;
    if (ahead_ > 0 && !thread_.joinable() && position_ < size()) start();
    changed_.notify_all();
    return batch;
  }

  int64_t size() const { return maker_->size(); }

 private:
  /// For its lifetime, the maker works and the mutex is not held.
  class PLIMSOLL_ANNOTATE(scoped_lockable) Making {
   public:
    explicit Making(State& state) PLIMSOLL_RELEASE(state.mutex_) : state_(state) {
      state_.making_ = true;
      state_.mutex_.unlock();
    }
    ~Making() PLIMSOLL_RELEASE() {
      state_.mutex_.lock();
      state_.making_ = false;
    }
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;

   private:
    State& state_;
  };

  CollatedBatch make_now() PLIMSOLL_REQUIRES(mutex_) {
    const int64_t number = position_;
    const Making making(*this);
    try {
      return maker_->make(number);
    } catch (const BudgetExceeded& refusal) {
      const int64_t live = memory_->live();
      throw BudgetExceeded(fmt::format("batch {} of {}: batches that were delivered and are still in use "
                                       "hold {} ({} bytes); release them, or make batches smaller ({})",
                                       number + 1, size(), format_bytes(live), live, maker_->limits()),
                           refusal);
    }
  }

  void start() {
    try {
      thread_ = std::jthread([this](const std::stop_token& stop) { make_ahead(stop); });
    } catch (const std::system_error&) {  // There is no memory for the thread's stack.
    }
  }

  bool has_room() const PLIMSOLL_REQUIRES(mutex_) {
    const int64_t coming = position_ + static_cast<int64_t>(ready_.size());
    if (resting_ || coming == size() || static_cast<int64_t>(ready_.size()) == ahead_) return false;
    return ready_.empty() || memory_->ahead() + last_bytes_ <= BatchMemory::kAhead;
  }

  /// Discards the batches made ahead and the batch that the thread is making; next() makes them again. The
  /// thread needs no lock that a caller may hold, so it always finishes.
  void give_up() {
    // A child of fork() has no thread that would unlock a mutex locked during the fork.
    if (getpid() != process_) return;
    const MutexLock lock(mutex_);
    ready_.clear();
    resting_ = true;
    discarded_ = making_ahead_;
    changed_.wait(mutex_, [&]() PLIMSOLL_REQUIRES(mutex_) { return !discarded_; });
    if (!making_) maker_->give_up();
    memory_->drop();
  }

  void make_ahead(const std::stop_token& stop) {
    const MutexLock lock(mutex_);
    while (changed_.wait(mutex_, stop, [&]() PLIMSOLL_REQUIRES(mutex_) { return has_room(); }) &&
           !stop.stop_requested()) {
      const int64_t coming = position_ + static_cast<int64_t>(ready_.size());
      std::optional<CollatedBatch> made;
      making_ahead_ = true;
      try {
        const Making making(*this);
        made = maker_->make(coming);
      } catch (const std::exception&) {  // next() gets the error again when this batch is due.
      }
      making_ahead_ = false;
      if (made && !discarded_) {
        last_bytes_ = made->bytes();
        ready_.push_back(std::move(*made));
      } else {
        made.reset();  // Freed before give_up() continues.
        resting_ = true;
      }
      discarded_ = false;
      changed_.notify_all();
    }
  }

  const std::shared_ptr<BatchMemory> memory_;
  // Called by one thread at a time: the caller of next(), or the thread that makes batches ahead.
  const std::unique_ptr<BatchMaker> maker_;
  const int64_t ahead_;
  const pid_t process_ = getpid();
  std::optional<BatchMemory::Keeping> keeping_;
  std::optional<Shrinker> relief_;

  Mutex turn_;  // Held by the caller of next(); position_ changes only while it is held.
  Mutex mutex_;
  StoppableConditionVariable changed_;
  int64_t position_ PLIMSOLL_GUARDED_BY(mutex_);                 // Number of batches delivered.
  std::deque<CollatedBatch> ready_ PLIMSOLL_GUARDED_BY(mutex_);  // Finished batches from position_ on.
  bool making_ PLIMSOLL_GUARDED_BY(mutex_) = false;              // Whether the batch after ready_ is being
                                                                 // made.
  bool making_ahead_ PLIMSOLL_GUARDED_BY(mutex_) = false;        // Whether the thread is making that batch.
  bool discarded_ PLIMSOLL_GUARDED_BY(mutex_) = false;  // Whether that batch is to be freed when it is done.
  bool resting_ PLIMSOLL_GUARDED_BY(mutex_) = true;     // Whether the thread must not start another
                                                        // batch.
  int64_t last_bytes_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  std::jthread thread_;
};

BatchStream::BatchStream(std::unique_ptr<BatchMaker> maker, int64_t first, int64_t ahead,
                         std::shared_ptr<BatchMemory> memory)
    : state_(std::make_unique<State>(std::move(maker), first, ahead, std::move(memory))),
      process_(getpid()) {}

BatchStream::~BatchStream() {
  if (getpid() != process_) static_cast<void>(state_.release());
}

std::optional<CollatedBatch> BatchStream::next() {
  return state_->next();
}

int64_t BatchStream::size() const {
  return state_->size();
}

}  // namespace plimsoll
