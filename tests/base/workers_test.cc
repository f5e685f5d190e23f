#include "base/workers.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/start_thread.h"

namespace plimsoll {
namespace {

void dawdle(int64_t item) {
  std::this_thread::sleep_for(std::chrono::microseconds(item * 7919 % 300));
}

std::vector<int64_t> first_numbers(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Runs in a separate process whose address space is large enough for some of the stacks only.
void start_more_than_fit(int threads) {
  alarm(20);  // Without the fix the call waited forever.
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto bytes = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (int64_t{40} << 20));
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  try {
    const Workers workers(threads);
  } catch (const ThreadRefused& error) {
    std::cerr << error.what();
    _exit(error.exit_code());
  }
  _exit(0);
}

TEST(WorkersDeathTest, ThreadsThatCannotStartAreRefusedByTheLimitAndNotWaitedFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(start_more_than_fit(2), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(start_more_than_fit(64), testing::ExitedWithCode(4), "ulimit -v.*--threads");
}

class WorkersOfManySizes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, WorkersOfManySizes, testing::Values(1, 2, 4, 8));

TEST_P(WorkersOfManySizes, WhatFollowsTheWaitHappensInTheOrderOfTheItems) {
  Workers workers(GetParam());
  EXPECT_EQ(workers.threads(), GetParam());
  std::vector<int64_t> order;  // Not guarded: at most one item at a time is past its wait.
  workers.run_ordered(200, [&](int64_t item, Turn& turn) {
    dawdle(item);
    turn.wait();
    order.push_back(item);
    turn.wait();  // A second wait does nothing.
  });
  EXPECT_EQ(order, first_numbers(200));
}

TEST_P(WorkersOfManySizes, OneItemAtATimeIsBehindItsWait) {
  Workers workers(GetParam());
  std::atomic<int> after = 0;
  std::atomic<int> max = 0;
  workers.run_ordered(100, [&](int64_t, Turn& turn) {
    turn.wait();
    max = std::max(max.load(), ++after);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    --after;
  });
  EXPECT_EQ(max, 1);
}

TEST_P(WorkersOfManySizes, NoMoreItemsAreAliveThanThreads) {
  Workers workers(GetParam());
  std::atomic<int> alive = 0;
  std::atomic<int> max = 0;
  workers.run_ordered(200, [&](int64_t item, Turn& turn) {
    const int now = ++alive;
    for (int seen = max; seen < now && !max.compare_exchange_weak(seen, now);) {
    }
    dawdle(200 - item);
    turn.wait();
    --alive;
  });
  EXPECT_LE(max, GetParam());
}

TEST_P(WorkersOfManySizes, AllThreadsWorkAtTheSameTime) {
  Workers workers(GetParam());
  std::latch all(GetParam());
  // Ends only if each thread holds one of the items.
  workers.run_ordered(GetParam(), [&](int64_t, Turn&) { all.arrive_and_wait(); });
}

TEST_P(WorkersOfManySizes, ItemsThatNeverWaitAreRunOnceEach) {
  Workers workers(GetParam());
  std::vector<std::atomic<int>> runs(300);
  workers.run_ordered(300, [&](int64_t item, Turn&) { ++runs[static_cast<size_t>(item)]; });
  for (const auto& count : runs) EXPECT_EQ(count, 1);
}

TEST_P(WorkersOfManySizes, ItemsThatNeverWaitDoNotLetOthersPass) {
  Workers workers(GetParam());
  std::vector<int64_t> order;
  workers.run_ordered(200, [&](int64_t item, Turn& turn) {
    if (item % 3 != 0) return;
    dawdle(item);
    turn.wait();
    order.push_back(item / 3);
  });
  EXPECT_EQ(order, first_numbers(67));
}

TEST_P(WorkersOfManySizes, TheFirstFailureByItemIsThrownWhicheverCameFirstInTime) {
  Workers workers(GetParam());
  for (int64_t repeat = 0; repeat < 40; ++repeat) {
    std::vector<int64_t> committed;
    std::string text;
    try {
      workers.run_ordered(60, [&](int64_t item, Turn& turn) {
        if (item >= 20) {
          std::this_thread::sleep_for(std::chrono::microseconds((item + repeat) * 5 % 7 * 300));
          throw std::runtime_error("item " + std::to_string(item));
        }
        turn.wait();
        committed.push_back(item);
      });
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    EXPECT_EQ(text, "item 20");
    EXPECT_EQ(committed, first_numbers(20));
  }
}

TEST_P(WorkersOfManySizes, AfterAFailureNoNewItemStarts) {
  Workers workers(GetParam());
  std::atomic<int64_t> last_started = 0;
  std::atomic<bool> failing = false;
  const auto work = [&](int64_t item, Turn&) {
    last_started = std::max(last_started.load(), item);
    if (item == 1) {
      failing = true;
      throw std::runtime_error("at once");
    }
    while (!failing && GetParam() > 1) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  EXPECT_THROW(workers.run_ordered(1000, work), std::runtime_error);
  EXPECT_LE(last_started, std::max(1, GetParam() - 1));
}

TEST_P(WorkersOfManySizes, ItemsBehindAFailureNeverCommit) {
  Workers workers(GetParam());
  std::vector<int64_t> committed;
  std::atomic<int64_t> last_started = 0;
  EXPECT_THROW(workers.run_ordered(1000,
                                   [&](int64_t item, Turn& turn) {
                                     last_started = std::max(last_started.load(), item);
                                     if (item == 10)
                                       std::this_thread::sleep_for(std::chrono::milliseconds(3));
                                     turn.wait();
                                     if (item == 10) throw std::runtime_error("after the wait");
                                     committed.push_back(item);
                                   }),
               std::runtime_error);
  EXPECT_EQ(committed, first_numbers(10));
  EXPECT_LT(last_started, 10 + GetParam());
}

TEST_P(WorkersOfManySizes, CanBeUsedAgainAfterAFailure) {
  Workers workers(GetParam());
  for (int repeat = 0; repeat < 50; ++repeat) {
    EXPECT_THROW(workers.run_ordered(20,
                                     [&](int64_t item, Turn&) {
                                       if (item == repeat % 20) throw std::runtime_error("once more");
                                     }),
                 std::runtime_error);
    int64_t sum = 0;
    workers.run_ordered(20, [&](int64_t item, Turn& turn) {
      turn.wait();
      sum += item;
    });
    EXPECT_EQ(sum, 190);
  }
}

TEST_P(WorkersOfManySizes, ManyTinyRunsNeitherHangNorLoseItems) {
  Workers workers(GetParam());
  int64_t sum = 0;
  for (int64_t run = 0; run < 2000; ++run)
    workers.run_ordered(run % 4, [&](int64_t item, Turn& turn) {
      turn.wait();
      sum += item + 1;
    });
  EXPECT_EQ(sum, 500 * (0 + 1 + 3 + 6));
}

TEST_P(WorkersOfManySizes, AStreamIsFetchedInOrderUntilItEnds) {
  Workers workers(GetParam());
  std::vector<int64_t> fetched;  // Not guarded: items are fetched one at a time.
  std::vector<int64_t> order;
  workers.run_stream(
      [&](int64_t item, int) {
        if (item == 150) return false;
        fetched.push_back(item);
        return true;
      },
      [&](int64_t item, Turn& turn) {
        dawdle(item);
        turn.wait();
        order.push_back(item);
      });
  EXPECT_EQ(fetched, first_numbers(150));
  EXPECT_EQ(order, first_numbers(150));
}

TEST_P(WorkersOfManySizes, AnExceptionOfFetchingIsThatOfTheItem) {
  Workers workers(GetParam());
  std::vector<int64_t> order;
  EXPECT_THROW(workers.run_stream(
                   [&](int64_t item, int) {
                     if (item == 30) throw std::runtime_error("damaged input");
                     return true;
                   },
                   [&](int64_t item, Turn& turn) {
                     dawdle(item);
                     turn.wait();
                     order.push_back(item);
                   }),
               std::runtime_error);
  EXPECT_EQ(order, first_numbers(30));
  order.clear();
  workers.run_stream([](int64_t item, int) { return item < 5; },
                     [&](int64_t item, Turn& turn) {
                       turn.wait();
                       order.push_back(item);
                     });
  EXPECT_EQ(order, first_numbers(5));
}

TEST_P(WorkersOfManySizes, AWorkerHasItsNumberToItself) {
  Workers workers(GetParam());
  std::vector<int64_t> item_of(static_cast<size_t>(GetParam()),
                               -1);  // Not guarded: each item has its own element.
  std::atomic<int> mixed = 0;
  workers.run_stream(
      [&](int64_t item, int worker) {
        if (item < 200) item_of.at(static_cast<size_t>(worker)) = item;
        return item < 200;
      },
      [&](int64_t item, Turn& turn) {
        dawdle(item);
        turn.wait();
        if (item_of.at(static_cast<size_t>(turn.worker())) != item) ++mixed;
      });
  EXPECT_EQ(mixed, 0);
}

TEST(Workers, LiveAndDieWithoutAnyRun) {
  for (int i = 0; i < 100; ++i) Workers workers(4);
}

TEST(Workers, ASumOfFloatsHasTheSameBitsForAnyNumberOfThreads) {
  const auto sum_with = [](int threads) {
    Workers workers(threads);
    float sum = 0;
    workers.run_ordered(500, [&](int64_t item, Turn& turn) {
      dawdle(item);
      const float part = 1.0F / static_cast<float>(item * 31 % 97 + 1);
      turn.wait();
      sum += part;
    });
    return sum;
  };
  const float alone = sum_with(1);
  for (const int threads : {2, 4, 8}) EXPECT_EQ(sum_with(threads), alone);
}

}  // namespace
}  // namespace plimsoll
