#include "base/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/shared_mutex.h"

namespace plimsoll {
namespace {

// Whether another thread would get the mutex at once.
bool is_free(Mutex& mutex) {
  bool got = false;
  std::jthread([&]() PLIMSOLL_NOT_ANALYSED {
    got = mutex.try_lock();
    if (got) mutex.unlock();
  }).join();
  return got;
}

TEST(Mutex, IsHeldByOneThreadAtATime) {
  Mutex mutex;
  int64_t count = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) {
        const MutexLock lock(mutex);
        ++count;
      }
    });
  threads.clear();
  EXPECT_EQ(count, 40000);
}

TEST(Mutex, LockEndsWithItsScopeAndCanEndEarlier) {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
    lock.unlock();
    EXPECT_TRUE(is_free(mutex));
    lock.lock();
    EXPECT_FALSE(is_free(mutex));
    lock.unlock();
  }
  EXPECT_TRUE(is_free(mutex));
  ASSERT_TRUE(mutex.try_lock());
  {
    const MutexLock lock(mutex, std::adopt_lock);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(Mutex, IsLockedAgainAfterAnUnlockEvenWithAnException) {
  Mutex mutex;
  const MutexLock lock(mutex);
  try {
    const MutexUnlock unlocked(mutex);
    EXPECT_TRUE(is_free(mutex));
    throw std::runtime_error("on purpose");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(is_free(mutex));
}

TEST(ConditionVariable, WaitLetsGoOfTheMutexAndHoldsItAfterwards) {
  Mutex mutex;
  ConditionVariable changed;
  bool done = false;
  std::jthread other([&] {
    const MutexLock lock(mutex);
    done = true;
    changed.notify_all();
  });
  const MutexLock lock(mutex);
  changed.wait(mutex, [&] { return done; });
  EXPECT_FALSE(is_free(mutex));
  EXPECT_FALSE(changed.wait_for(mutex, std::chrono::milliseconds(1), [] { return false; }));
  EXPECT_FALSE(is_free(mutex));
}

TEST(ConditionVariable, HoldsTheMutexAfterAPredicateThrew) {
  Mutex mutex;
  ConditionVariable changed;
  const MutexLock lock(mutex);
  EXPECT_THROW(changed.wait(mutex, []() -> bool { throw std::runtime_error("on purpose"); }),
               std::runtime_error);
  EXPECT_FALSE(is_free(mutex));
}

TEST(StoppableConditionVariable, WaitEndsWithTheStop) {
  Mutex mutex;
  StoppableConditionVariable changed;
  std::stop_source source;
  std::jthread other([&] { source.request_stop(); });
  const MutexLock lock(mutex);
  EXPECT_FALSE(changed.wait(mutex, source.get_token(), [] { return false; }));
  EXPECT_FALSE(is_free(mutex));
}

TEST(SharedMutex, HasManyReadersOrOneWriter) {
  SharedMutex mutex;
  std::atomic<int> readers = 0;
  int64_t written = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 2; ++thread)
    threads.emplace_back([&] {
      const SharedLock lock(mutex);
      for (++readers; readers < 2;) std::this_thread::yield();  // Ends only if both readers hold the mutex.
    });
  threads.clear();
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) {
        const ExclusiveLock lock(mutex);
        ++written;
      }
    });
  threads.clear();
  EXPECT_EQ(written, 40000);
}

}  // namespace
}  // namespace plimsoll
