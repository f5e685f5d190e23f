#include "watched.h"

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kGlance{50};

/// State shared by the working and the watching thread.
class Watched {
 public:
  struct Stopped {};

  explicit Watched(const std::function<void(const Progress&)>& work)
      : thread_([this, &work] { run(work); }) {}

  /// Waits for a short time; returns whether the work has ended.
  bool wait() {
    const nb::gil_scoped_release release;
    const MutexLock lock(mutex_);
    return changed_.wait_for(mutex_, kGlance, [this]() PLIMSOLL_REQUIRES(mutex_) { return ended_; });
  }

  void stop() {
    const nb::gil_scoped_release release;
    {
      const MutexLock lock(mutex_);
      stop_ = true;
    }
    thread_.join();
  }

  std::pair<int64_t, int64_t> seen() {
    const MutexLock lock(mutex_);
    return seen_;
  }
  /// The error of the work; call after it has ended.
  std::exception_ptr error() {
    const MutexLock lock(mutex_);
    return error_;
  }

 private:
  void run(const std::function<void(const Progress&)>& work) {
    std::exception_ptr error;
    try {
      work([this](int64_t done, int64_t total) { note(done, total); });
    } catch (...) {
      error = std::current_exception();
    }
    const MutexLock lock(mutex_);
    error_ = std::move(error);
    ended_ = true;
    changed_.notify_one();
  }

  void note(int64_t done, int64_t total) {
    const MutexLock lock(mutex_);
    if (stop_) throw Stopped{};
    seen_ = {done, total};
  }

  Mutex mutex_;
  ConditionVariable changed_;
  bool ended_ PLIMSOLL_GUARDED_BY(mutex_) = false;
  bool stop_ PLIMSOLL_GUARDED_BY(mutex_) = false;
  std::pair<int64_t, int64_t> seen_ PLIMSOLL_GUARDED_BY(mutex_){0, 0};
  std::exception_ptr error_ PLIMSOLL_GUARDED_BY(mutex_);
  std::jthread thread_;  // Declared last: it starts when all other members exist.
};

}  // namespace

void run_watched(const nb::object& callback, const std::function<void(const Progress&)>& work) {
  Watched watched(work);
  std::pair<int64_t, int64_t> reported{0, 0};
  try {
    for (bool ended = false; !ended;) {
      ended = watched.wait();
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      const std::pair<int64_t, int64_t> seen = watched.seen();
      if (callback.is_none() || seen == reported) continue;
      callback(seen.first, seen.second);
      reported = seen;
    }
  } catch (...) {
    watched.stop();
    throw;
  }
  if (const std::exception_ptr error = watched.error()) std::rethrow_exception(error);
}

}  // namespace plimsoll
