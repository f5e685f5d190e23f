#include "base/workers.h"

#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "base/start_thread.h"

namespace plimsoll {

class OrderedRun {
 public:
  OrderedRun(const Workers::Take& take, const Workers::Work& work) : take_(take), work_(work) {}

  void work_until_done(int worker) {
    for (int64_t item = take(worker); item >= 0; item = take(worker)) {
      Turn turn(this, item, worker);
      try {
        work_(item, turn);
        turn.wait();
        done(item);
      } catch (const Turn::Stopped&) {
        return;
      } catch (...) {
        failed(item, std::current_exception());
        return;
      }
    }
  }

  void wait_for(int64_t item) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return next_done_ == item || failed_item_ < item; });
    if (failed_item_ < item) throw Turn::Stopped();
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  int64_t take(int worker) {
    const std::lock_guard lock(taking_);
    if (ended_ || has_failed()) return -1;
    try {
      if (take_(next_taken_, worker)) return next_taken_++;
    } catch (...) {
      failed(next_taken_, std::current_exception());
    }
    ended_ = true;
    return -1;
  }

  bool has_failed() {
    const std::lock_guard lock(mutex_);
    return error_ != nullptr;
  }

  void done(int64_t item) {
    std::lock_guard lock(mutex_);
    next_done_ = item + 1;
    moved_.notify_all();
  }

  void failed(int64_t item, std::exception_ptr error) {
    std::lock_guard lock(mutex_);
    if (item < failed_item_) {
      failed_item_ = item;
      error_ = std::move(error);
    }
    moved_.notify_all();
  }

  const Workers::Take& take_;
  const Workers::Work& work_;
  std::mutex taking_;
  int64_t next_taken_ = 0;  // Guarded by taking_.
  bool ended_ = false;      // Guarded by taking_.
  std::mutex mutex_;
  std::condition_variable moved_;
  int64_t next_done_ = 0;                                      // Guarded by mutex_.
  int64_t failed_item_ = std::numeric_limits<int64_t>::max();  // Guarded by mutex_.
  std::exception_ptr error_;                                   // Guarded by mutex_.
};

void Turn::wait() {
  run_->wait_for(item_);
}

struct Workers::State {
  std::mutex mutex;
  std::condition_variable changed;
  OrderedRun* run = nullptr;  // Guarded by mutex.
  int64_t generation = 0;     // Guarded by mutex. Counts runs, so that a thread takes part in each once.
  int busy = 0;               // Guarded by mutex. Number of helpers still in the current run.
  bool closing = false;       // Guarded by mutex.
  // Declared last, so that the threads end before the members they wait on.
  std::vector<std::jthread> helpers;

  void close() {
    {
      const std::lock_guard lock(mutex);
      closing = true;
    }
    changed.notify_all();
  }

  void help(int worker) {
    std::unique_lock lock(mutex);
    for (int64_t seen = 0;;) {
      changed.wait(lock, [&] { return closing || generation != seen; });
      if (closing) return;
      seen = generation;
      OrderedRun* const mine = run;
      lock.unlock();
      mine->work_until_done(worker);
      lock.lock();
      if (--busy == 0) changed.notify_all();
    }
  }
};

Workers::Workers(int threads) : state_(std::make_unique<State>()) {
  try {
    for (int i = 1; i < threads; ++i)
      state_->helpers.push_back(start_thread([state = state_.get(), i] { state->help(i); }));
  } catch (...) {
    state_->close();  // The threads that did start would wait for work, and joining them would never end.
    throw;
  }
}

Workers::~Workers() {
  state_->close();
}

int Workers::threads() const {
  return static_cast<int>(state_->helpers.size()) + 1;
}

void Workers::run_ordered(int64_t items, const Work& work) {
  run_stream([items](int64_t item, int) { return item < items; }, work);
}

void Workers::run_stream(const Take& take, const Work& work) {
  OrderedRun run(take, work);
  {
    std::lock_guard lock(state_->mutex);
    state_->run = &run;
    state_->busy = static_cast<int>(state_->helpers.size());
    ++state_->generation;
  }
  state_->changed.notify_all();
  run.work_until_done(0);
  {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->busy == 0; });
    state_->run = nullptr;
  }
  run.rethrow();
}

}  // namespace plimsoll
