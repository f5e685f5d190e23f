#include "base/workers.h"

#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace plimsoll {

class OrderedRun {
 public:
  OrderedRun(int64_t items, const Workers::Work& work) : items_(items), work_(work) {}

  void work_until_done() {
    for (int64_t item = take(); item >= 0; item = take()) {
      Turn turn(this, item);
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
  int64_t take() {
    std::lock_guard lock(mutex_);
    if (next_taken_ >= items_ || error_) return -1;
    return next_taken_++;
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

  const int64_t items_;
  const Workers::Work& work_;
  std::mutex mutex_;
  std::condition_variable moved_;
  int64_t next_taken_ = 0;                                     // guarded by mutex_
  int64_t next_done_ = 0;                                      // guarded by mutex_
  int64_t failed_item_ = std::numeric_limits<int64_t>::max();  // guarded by mutex_
  std::exception_ptr error_;                                   // guarded by mutex_
};

void Turn::wait() {
  run_->wait_for(item_);
}

struct Workers::State {
  std::mutex mutex;
  std::condition_variable changed;
  OrderedRun* run = nullptr;  // guarded by mutex
  int64_t generation = 0;     // guarded by mutex; counts runs, so that a thread takes part in each once
  int busy = 0;               // guarded by mutex; helpers still in the present run
  bool closing = false;       // guarded by mutex
  std::vector<std::jthread> helpers;

  void help() {
    std::unique_lock lock(mutex);
    for (int64_t seen = 0;;) {
      changed.wait(lock, [&] { return closing || generation != seen; });
      if (closing) return;
      seen = generation;
      OrderedRun* const mine = run;
      lock.unlock();
      mine->work_until_done();
      lock.lock();
      if (--busy == 0) changed.notify_all();
    }
  }
};

Workers::Workers(int threads) : state_(std::make_unique<State>()) {
  for (int i = 1; i < threads; ++i) state_->helpers.emplace_back([state = state_.get()] { state->help(); });
}

Workers::~Workers() {
  {
    std::lock_guard lock(state_->mutex);
    state_->closing = true;
  }
  state_->changed.notify_all();
}

int Workers::threads() const {
  return static_cast<int>(state_->helpers.size()) + 1;
}

void Workers::run_ordered(int64_t items, const Work& work) {
  OrderedRun run(items, work);
  {
    std::lock_guard lock(state_->mutex);
    state_->run = &run;
    state_->busy = static_cast<int>(state_->helpers.size());
    ++state_->generation;
  }
  state_->changed.notify_all();
  run.work_until_done();
  {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->busy == 0; });
    state_->run = nullptr;
  }
  run.rethrow();
}

}  // namespace plimsoll
