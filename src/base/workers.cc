#include "base/workers.h"

#include <exception>
#include <limits>
#include <thread>
#include <vector>

#include "base/mutex.h"
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
    MutexLock lock(mutex_);
    moved_.wait(mutex_,
                [&]() PLIMSOLL_REQUIRES(mutex_) { return next_done_ == item || failed_item_ < item; });
    if (failed_item_ < item) throw Turn::Stopped();
  }

  void rethrow() {
    const MutexLock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  int64_t take(int worker) {
    const MutexLock lock(taking_);
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
    const MutexLock lock(mutex_);
    return error_ != nullptr;
  }

  void done(int64_t item) {
    const MutexLock lock(mutex_);
    next_done_ = item + 1;
    moved_.notify_all();
  }

  void failed(int64_t item, std::exception_ptr error) {
    const MutexLock lock(mutex_);
    if (item < failed_item_) {
      failed_item_ = item;
      error_ = std::move(error);
    }
    moved_.notify_all();
  }

  const Workers::Take& take_;
  const Workers::Work& work_;
  Mutex taking_;
  int64_t next_taken_ PLIMSOLL_GUARDED_BY(taking_) = 0;
  bool ended_ PLIMSOLL_GUARDED_BY(taking_) = false;
  Mutex mutex_;
  ConditionVariable moved_;
  int64_t next_done_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  int64_t failed_item_ PLIMSOLL_GUARDED_BY(mutex_) = std::numeric_limits<int64_t>::max();
  std::exception_ptr error_ PLIMSOLL_GUARDED_BY(mutex_);
};

void Turn::wait() {
  run_->wait_for(item_);
}

struct Workers::State {
  Mutex mutex;
  ConditionVariable changed;
  OrderedRun* run PLIMSOLL_GUARDED_BY(mutex) = nullptr;
  // Counts runs, so that a thread takes part in each run once.
  int64_t generation PLIMSOLL_GUARDED_BY(mutex) = 0;
  int busy PLIMSOLL_GUARDED_BY(mutex) = 0;  // Number of helpers still in the current run.
  bool closing PLIMSOLL_GUARDED_BY(mutex) = false;
  // Declared last, so that the threads end before the members they wait on.
  std::vector<std::jthread> helpers;

  void close() {
    {
      const MutexLock lock(mutex);
      closing = true;
    }
    changed.notify_all();
  }

  void help(int worker) {
    MutexLock lock(mutex);
    for (int64_t seen = 0;;) {
      changed.wait(mutex, [&]() PLIMSOLL_REQUIRES(mutex) { return closing || generation != seen; });
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
    state_->close();  // Threads that have started would wait for work forever, so joining them would never
                      // return.
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
    const MutexLock lock(state_->mutex);
    state_->run = &run;
    state_->busy = static_cast<int>(state_->helpers.size());
    ++state_->generation;
  }
  state_->changed.notify_all();
  run.work_until_done(0);
  {
    const MutexLock lock(state_->mutex);
    state_->changed.wait(state_->mutex, [&]() PLIMSOLL_REQUIRES(state_->mutex) { return state_->busy == 0; });
    state_->run = nullptr;
  }
  run.rethrow();
}

}  // namespace plimsoll
