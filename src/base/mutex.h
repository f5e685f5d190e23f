#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

// Annotations for the thread-safety analysis of clang (`scripts/check tidy`). Other compilers ignore them.
#ifdef __clang__
#define PLIMSOLL_ANNOTATE(attribute) __attribute__((attribute))
#else
#define PLIMSOLL_ANNOTATE(attribute)
#endif
/// A member that is read and written only while the mutex is held.
#define PLIMSOLL_GUARDED_BY(mutex) PLIMSOLL_ANNOTATE(guarded_by(mutex))
/// A function whose caller holds the mutexes.
#define PLIMSOLL_REQUIRES(...) PLIMSOLL_ANNOTATE(requires_capability(__VA_ARGS__))
/// Functions that lock or unlock the mutexes, or the object itself if none is named.
#define PLIMSOLL_ACQUIRE(...) PLIMSOLL_ANNOTATE(acquire_capability(__VA_ARGS__))
#define PLIMSOLL_RELEASE(...) PLIMSOLL_ANNOTATE(release_capability(__VA_ARGS__))
/// A function that the analysis skips. A comment gives the reason.
#define PLIMSOLL_NOT_ANALYSED PLIMSOLL_ANNOTATE(no_thread_safety_analysis)

namespace plimsoll {

/// std::mutex with annotations.
class PLIMSOLL_ANNOTATE(capability("mutex")) Mutex {
 public:
  void lock() PLIMSOLL_ACQUIRE() { mutex_.lock(); }
  void unlock() PLIMSOLL_RELEASE() { mutex_.unlock(); }
  bool try_lock() PLIMSOLL_ANNOTATE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  template <typename Condition>
  friend class BasicConditionVariable;
  std::mutex mutex_;
};

/// Holds a mutex until its scope ends, except between unlock() and lock().
class PLIMSOLL_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) PLIMSOLL_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  /// Takes over a mutex that the caller has locked.
  MutexLock(Mutex& mutex, std::adopt_lock_t) PLIMSOLL_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() PLIMSOLL_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() PLIMSOLL_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() PLIMSOLL_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Unlocks a mutex that the caller holds, and locks it again when its scope ends.
class PLIMSOLL_ANNOTATE(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) PLIMSOLL_RELEASE(mutex) : mutex_(mutex) { mutex.unlock(); }
  ~MutexUnlock() PLIMSOLL_RELEASE() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

/// A condition variable for Mutex. The caller of a wait holds the mutex, which is unlocked during the wait. A
/// predicate that reads guarded members needs the annotation: `changed_.wait(mutex_, [&]()
/// PLIMSOLL_REQUIRES(mutex_) { return done_; })`.
template <typename Condition>
class BasicConditionVariable {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

  /// The arguments are those of the standard condition variable, with the mutex in place of the lock.
  /// wait_for() needs a predicate and returns its last result.
  template <typename... Arguments>
  bool wait_for(Mutex& mutex, Arguments&&... arguments) PLIMSOLL_REQUIRES(mutex) {
    Adopted adopted(mutex);
    return condition_.wait_for(adopted.lock, std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  auto wait(Mutex& mutex, Arguments&&... arguments) PLIMSOLL_REQUIRES(mutex) {
    Adopted adopted(mutex);
    return condition_.wait(adopted.lock, std::forward<Arguments>(arguments)...);
  }

 private:
  /// The lock that the standard library expects, for a mutex that the caller has locked. It never unlocks the
  /// mutex, even after an exception, because the caller does.
  struct Adopted {
    explicit Adopted(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Adopted() { lock.release(); }
    std::unique_lock<std::mutex> lock;
  };
  Condition condition_;
};

using ConditionVariable = BasicConditionVariable<std::condition_variable>;
/// A condition variable whose waits also end when a std::stop_token requests a stop. It needs more memory and
/// time than ConditionVariable.
using StoppableConditionVariable = BasicConditionVariable<std::condition_variable_any>;

}  // namespace plimsoll
