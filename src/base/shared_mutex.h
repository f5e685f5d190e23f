#pragma once

#include <shared_mutex>

#include "base/mutex.h"

namespace plimsoll {

/// std::shared_mutex with annotations: held by one thread exclusively, or shared by any number of readers.
class PLIMSOLL_ANNOTATE(capability("mutex")) SharedMutex {
 public:
  void lock() PLIMSOLL_ACQUIRE() { mutex_.lock(); }
  void unlock() PLIMSOLL_RELEASE() { mutex_.unlock(); }
  void lock_shared() PLIMSOLL_ANNOTATE(acquire_shared_capability()) { mutex_.lock_shared(); }
  void unlock_shared() PLIMSOLL_ANNOTATE(release_shared_capability()) { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

/// A function whose caller holds the mutex, shared or exclusively.
#define PLIMSOLL_REQUIRES_SHARED(...) PLIMSOLL_ANNOTATE(requires_shared_capability(__VA_ARGS__))

/// Holds a mutex exclusively until its scope ends.
class PLIMSOLL_ANNOTATE(scoped_lockable) ExclusiveLock {
 public:
  explicit ExclusiveLock(SharedMutex& mutex) PLIMSOLL_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  ~ExclusiveLock() PLIMSOLL_RELEASE() { mutex_.unlock(); }
  ExclusiveLock(const ExclusiveLock&) = delete;
  ExclusiveLock& operator=(const ExclusiveLock&) = delete;

 private:
  SharedMutex& mutex_;
};

/// Holds a mutex as one of its readers until its scope ends.
class PLIMSOLL_ANNOTATE(scoped_lockable) SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) PLIMSOLL_ANNOTATE(acquire_shared_capability(mutex))
      : mutex_(mutex) {
    mutex.lock_shared();
  }
  ~SharedLock() PLIMSOLL_RELEASE() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace plimsoll
