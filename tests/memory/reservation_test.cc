#include "memory/reservation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/workers.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A thread that asks for a reservation and keeps it until told to end. When the constructor returns, the
/// thread stands in the line or has its answer.
class Asker {
 public:
  enum class Answer { none, granted, refused, stopped };

  Asker(Ledger& ledger, int64_t bytes, std::vector<int64_t>* order = nullptr) {
    const int64_t before = ledger.waiting();
    thread_ = std::jthread([this, &ledger, bytes, order](const std::stop_token& stop) {
      try {
        const std::optional<Reservation> mine = ledger.reserve(Tag::activations, bytes, stop);
        if (mine && order != nullptr) order->push_back(bytes);  // one at a time has room
        answer_ = mine ? Answer::granted : Answer::stopped;
        if (mine) end_.wait(false);
      } catch (const BudgetExceeded& refusal) {
        refusal_ = refusal;
        answer_ = Answer::refused;
      }
    });
    while (ledger.waiting() == before && answer_ == Answer::none) std::this_thread::yield();
  }
  ~Asker() { end(); }

  Answer answer_so_far() const { return answer_; }
  /// Waits for it, but not for ever.
  Answer answer() const {
    for (int ms = 0; ms < 5000 && answer_ == Answer::none; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return answer_;
  }
  const BudgetExceeded& refusal() const { return refusal_.value(); }

  void stop() { thread_.request_stop(); }
  void end() {
    stop();
    end_ = true;
    end_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<Answer> answer_ = Answer::none;
  std::atomic<bool> end_ = false;
  std::optional<BudgetExceeded> refusal_;
  std::jthread thread_;
};
using Answer = Asker::Answer;

/// One that is not made to wait.
class Holder : public Asker {
 public:
  Holder(Ledger& ledger, int64_t bytes) : Asker(ledger, bytes) { EXPECT_EQ(answer(), Answer::granted); }
};

TEST(Reservation, StandsInTheLedgerUntilItsScopeEnds) {
  Ledger ledger(100);
  {
    const Reservation mine = ledger.reserve(Tag::activations, 70);
    EXPECT_EQ(mine.bytes(), 70);
    EXPECT_EQ(ledger.held(), 70);
    EXPECT_EQ(ledger.reserved(), 70);
    EXPECT_EQ(ledger.held(Tag::activations), 0) << "nothing is taken yet";
  }
  EXPECT_EQ(ledger.held(), 0);
  EXPECT_EQ(ledger.reserved(), 0);
  EXPECT_EQ(ledger.peak(), 70);
  EXPECT_EQ(ledger.peak(Tag::activations), 0);
}

TEST(Reservation, WhatItsThreadTakesIsNotCountedTwice) {
  Ledger ledger(100);
  {
    const Reservation mine = ledger.reserve(Tag::activations, 100);
    ledger.take(Tag::activations, 60);
    ledger.take(Tag::blocks, 40);
    EXPECT_EQ(ledger.held(), 100);
    ledger.give(Tag::activations, 60);
    ledger.take(Tag::activations, 10);
    EXPECT_EQ(ledger.held(), 100) << "what is given back stays promised";
    EXPECT_EQ(mine.used(), 50);
    EXPECT_EQ(mine.peak(), 100);
    EXPECT_EQ(mine.bytes(), 100);
    ledger.give(Tag::activations, 10);
    ledger.give(Tag::blocks, 40);
  }
  EXPECT_EQ(ledger.held(), 0);
  EXPECT_EQ(ledger.peak(), 100);
}

TEST(Reservation, EachPieceIsMarkedUnderItsOwnTag) {
  Ledger ledger;
  const Reservation mine = ledger.reserve(Tag::activations, 100);
  ledger.take(Tag::blocks, 30);
  ledger.take(Tag::activations, 50);
  ledger.give(Tag::blocks, 20);
  EXPECT_EQ(ledger.held(Tag::blocks), 10);
  EXPECT_EQ(ledger.peak(Tag::blocks), 30);
  EXPECT_EQ(ledger.held(Tag::activations), 50);
  EXPECT_EQ(ledger.peak(Tag::activations), 50);
  ledger.give(Tag::blocks, 10);
  ledger.give(Tag::activations, 50);
}

TEST(Reservation, GrowsByWhatIsMissing) {
  Ledger ledger(100);
  Reservation mine = ledger.reserve(Tag::activations, 40);
  ledger.take(Tag::activations, 30);
  ledger.take(Tag::activations, 25);
  EXPECT_EQ(mine.bytes(), 55);
  EXPECT_EQ(ledger.held(), 55);
  mine.grow(Tag::activations, 45);
  EXPECT_EQ(mine.bytes(), 100);
  EXPECT_EQ(mine.used(), 55);
  EXPECT_EQ(ledger.held(), 100);
  EXPECT_EQ(ledger.reserved(), 100);
  ledger.give(Tag::activations, 55);
}

TEST(Reservation, GrowingPastTheCapIsRefusedWithTheFiguresAndEntersNothing) {
  Ledger ledger(100);
  ledger.take(Tag::parameters, 30);
  Reservation mine = ledger.reserve(Tag::activations, 40);
  ledger.take(Tag::activations, 25);
  try {
    ledger.take(Tag::gradients, 46);  // 15 of the reservation and 30 beside it are free
    FAIL() << "the cap was passed";
  } catch (const BudgetExceeded& refusal) {
    EXPECT_EQ(refusal.exit_code(), 4);
    EXPECT_EQ(refusal.tag(), Tag::gradients);
    EXPECT_EQ(refusal.bytes_asked(), 46);
    EXPECT_EQ(refusal.bytes_free(), 45);
    EXPECT_THAT(refusal.what(), HasSubstr("raise the budget by at least 1 B"));
  }
  try {
    mine.grow(Tag::activations, 31);
    FAIL() << "the cap was passed";
  } catch (const BudgetExceeded& refusal) {
    EXPECT_EQ(refusal.tag(), Tag::activations);
    EXPECT_EQ(refusal.bytes_asked(), 31);
    EXPECT_EQ(refusal.bytes_free(), 30);
  }
  EXPECT_EQ(ledger.held(), 70);
  EXPECT_EQ(ledger.held(Tag::gradients), 0);
  EXPECT_EQ(ledger.peak(Tag::gradients), 0);
  EXPECT_EQ(mine.bytes(), 40);
  EXPECT_EQ(mine.used(), 25);
  EXPECT_EQ(mine.peak(), 25);
  ledger.take(Tag::gradients, 45);
  EXPECT_EQ(ledger.held(), 100);
  ledger.give(Tag::gradients, 45);
  ledger.give(Tag::activations, 25);
  ledger.give(Tag::parameters, 30);
}

TEST(Reservation, GrowingDoesNotWaitForOtherReservations) {
  Ledger ledger(100);
  const Holder other(ledger, 60);
  const Reservation mine = ledger.reserve(Tag::activations, 40);
  EXPECT_THROW(ledger.take(Tag::activations, 41), BudgetExceeded);
}

TEST(Reservation, WhatOutlivesItStaysInTheLedger) {
  Ledger ledger(100);
  {
    const Reservation mine = ledger.reserve(Tag::activations, 80);
    ledger.take(Tag::gradients, 10);
  }
  EXPECT_EQ(ledger.held(), 10);
  EXPECT_EQ(ledger.reserved(), 0);
  ledger.give(Tag::gradients, 10);
  EXPECT_EQ(ledger.held(), 0);
}

TEST(Reservation, WhatWasTakenBeforeItAndIsGivenBackInItEvensOut) {
  Ledger ledger(100);
  ledger.take(Tag::blocks, 20);
  {
    const Reservation mine = ledger.reserve(Tag::activations, 50);
    ledger.take(Tag::activations, 5);
    ledger.give(Tag::blocks, 20);
    EXPECT_EQ(mine.used(), 0);
    EXPECT_EQ(ledger.held(), 55)
        << "the promise, and what was taken; of the 20 bytes 5 went back to the promise";
    ledger.take(Tag::activations, 50);
    EXPECT_EQ(ledger.held(), 55);
    EXPECT_EQ(mine.bytes(), 50);
    ledger.give(Tag::activations, 55);
  }
  EXPECT_EQ(ledger.held(), 0);
}

TEST(Reservation, OtherThreadsAreNotChargedToIt) {
  Ledger ledger(100);
  {
    const Reservation mine = ledger.reserve(Tag::activations, 50);
    ledger.take(Tag::activations, 30);
    std::jthread([&] {
      EXPECT_THROW(ledger.take(Tag::blocks, 51), BudgetExceeded);
      ledger.take(Tag::blocks, 20);
      ledger.give(Tag::activations, 30);  // is free for all: the promise keeps 20 bytes
    }).join();
    EXPECT_EQ(mine.used(), 30);
    EXPECT_EQ(ledger.held(), 40);
    EXPECT_EQ(ledger.held(Tag::activations), 0);
  }
  EXPECT_EQ(ledger.held(), 20);
  ledger.give(Tag::blocks, 20);
}

TEST(Reservation, ConcernsItsOwnLedgerAlone) {
  Ledger ledger(100);
  Ledger another(100);
  const Reservation mine = ledger.reserve(Tag::activations, 50);
  another.take(Tag::blocks, 30);
  EXPECT_EQ(another.held(), 30);
  EXPECT_EQ(mine.used(), 0);
  another.give(Tag::blocks, 30);
  EXPECT_EQ(another.held(), 0);
}

TEST(Reservation, MovesAndEndsOnce) {
  Ledger ledger(100);
  std::optional<Reservation> slot;
  {
    Reservation first = ledger.reserve(Tag::activations, 60);
    ledger.take(Tag::activations, 10);
    Reservation second = std::move(first);
    slot = std::move(second);
  }
  EXPECT_EQ(ledger.held(), 60);
  EXPECT_EQ(slot->used(), 10);
  ledger.take(Tag::activations, 50);
  EXPECT_EQ(ledger.held(), 60);
  ledger.give(Tag::activations, 60);
  slot.reset();
  EXPECT_EQ(ledger.held(), 0);
  slot = ledger.reserve(Tag::activations, 100);
  EXPECT_EQ(ledger.held(), 100);
}

TEST(Reservation, AThreadHasOneAtATime) {
  Ledger ledger(100);
  Ledger another(100);
  {
    const Reservation mine = ledger.reserve(Tag::activations, 10);
    EXPECT_THROW(ledger.reserve(Tag::activations, 10), Failure);
    EXPECT_THROW(ledger.try_reserve(10), Failure);
    EXPECT_THROW(another.reserve(Tag::activations, 10), Failure);
    EXPECT_EQ(ledger.held(), 10);
  }
  const Reservation next = ledger.reserve(Tag::activations, 100);
  EXPECT_EQ(ledger.held(), 100);
}

TEST(Reservation, EndsWithAnException) {
  Ledger ledger(100);
  EXPECT_THROW(
      {
        const Reservation mine = ledger.reserve(Tag::activations, 90);
        throw std::runtime_error("");
      },
      std::runtime_error);
  EXPECT_EQ(ledger.held(), 0);
  EXPECT_THROW(
      {
        const Reservation mine = ledger.reserve(Tag::activations, 90);
        ledger.take(Tag::activations, 101);
      },
      BudgetExceeded);
  EXPECT_EQ(ledger.held(), 0);
  EXPECT_NO_THROW(ledger.reserve(Tag::activations, 100));
}

TEST(Reservation, AVectorMadeInItIsCharged) {
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held();
  {
    const Reservation mine = ledger.reserve(Tag::blocks, 8000);
    const Vector<int64_t, Tag::blocks> numbers(1000);
    EXPECT_EQ(mine.used(), 8000);
    EXPECT_EQ(ledger.held(), before + 8000);
  }
  EXPECT_EQ(ledger.held(), before);
}

TEST(ReservationDeathTest, MustNotEndOnAnotherThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Ledger ledger;
        auto mine = std::make_unique<Reservation>(ledger.reserve(Tag::activations, 10));
        std::jthread([&] { mine.reset(); }).join();
      },
      "");
}

TEST(Reserve, MoreThanTheCapIsRefusedAtOnce) {
  Ledger ledger(100);
  ledger.take(Tag::parameters, 30);
  Holder holder(ledger, 60);
  Asker waiter(ledger, 50);
  Asker asker(ledger, 101);
  ASSERT_EQ(asker.answer(), Answer::refused);
  EXPECT_EQ(asker.refusal().tag(), Tag::activations);
  EXPECT_EQ(asker.refusal().bytes_asked(), 101);
  EXPECT_EQ(asker.refusal().bytes_free(), 70) << "what is free when all reservations have ended";
  EXPECT_THAT(asker.refusal().what(), HasSubstr("raise the budget by at least 31 B"));
  EXPECT_EQ(ledger.held(), 90);
  EXPECT_EQ(ledger.waiting(), 1);
  holder.end();
  EXPECT_EQ(waiter.answer(), Answer::granted);
  waiter.end();
  ledger.give(Tag::parameters, 30);
}

TEST(Reserve, WhereNoReservationCanEndItIsRefusedAtOnce) {
  Ledger ledger(100);
  ledger.take(Tag::parameters, 30);
  Asker asker(ledger, 71);
  ASSERT_EQ(asker.answer(), Answer::refused);
  EXPECT_EQ(asker.refusal().bytes_asked(), 71);
  EXPECT_EQ(asker.refusal().bytes_free(), 70);
  EXPECT_EQ(ledger.held(), 30);
  EXPECT_EQ(ledger.reserve(Tag::activations, 70).bytes(), 70);
  ledger.give(Tag::parameters, 30);
}

TEST(Reserve, IsServedInTheOrderOfArrival) {
  Ledger ledger(100);
  std::vector<int64_t> order;
  Holder holder(ledger, 100);
  std::vector<std::unique_ptr<Asker>> waiters;
  for (const int64_t bytes : {60, 99, 51, 100, 77, 52, 88})  // no two fit together
    waiters.push_back(std::make_unique<Asker>(ledger, bytes, &order));
  ASSERT_EQ(ledger.waiting(), 7);
  holder.end();
  for (const auto& waiter : waiters) {
    EXPECT_EQ(waiter->answer(), Answer::granted);
    waiter->end();
  }
  EXPECT_THAT(order, ElementsAre(60, 99, 51, 100, 77, 52, 88));
  EXPECT_EQ(ledger.held(), 0);
}

TEST(Reserve, ASmallOneDoesNotOvertakeALargeOne) {
  Ledger ledger(100);
  Holder holder(ledger, 80);
  Asker large(ledger, 50);
  Asker small(ledger, 10);  // would fit beside the holder
  EXPECT_EQ(ledger.waiting(), 2);
  EXPECT_FALSE(ledger.try_reserve(10));
  EXPECT_FALSE(ledger.try_reserve(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(small.answer_so_far(), Answer::none);
  holder.end();
  EXPECT_EQ(large.answer(), Answer::granted);
  EXPECT_EQ(small.answer(), Answer::granted) << "both fit together";
  EXPECT_EQ(ledger.held(), 60);
}

TEST(Reserve, GoesOnWhenMemoryOutsideOfReservationsIsGivenBack) {
  Ledger ledger(100);
  ledger.take(Tag::blocks, 50);
  Holder holder(ledger, 30);
  Asker waiter(ledger, 40);
  EXPECT_EQ(ledger.waiting(), 1);
  ledger.give(Tag::blocks, 10);
  EXPECT_EQ(waiter.answer_so_far(), Answer::none);
  ledger.give(Tag::blocks, 10);
  EXPECT_EQ(waiter.answer(), Answer::granted);
  ledger.give(Tag::blocks, 30);
}

TEST(Reserve, IsRefusedWhenTheLastReservationEndsAndTheNextIsServed) {
  Ledger ledger(100);
  ledger.take(Tag::parameters, 30);
  Holder holder(ledger, 60);
  Asker waiter(ledger, 71);
  Asker next(ledger, 70);
  EXPECT_EQ(ledger.waiting(), 2);
  holder.end();
  ASSERT_EQ(waiter.answer(), Answer::refused);
  EXPECT_EQ(waiter.refusal().bytes_free(), 70);
  EXPECT_EQ(next.answer(), Answer::granted);
  next.end();
  ledger.give(Tag::parameters, 30);
}

TEST(Reserve, FollowsTheCap) {
  Ledger ledger(100);
  Holder holder(ledger, 100);
  Asker first(ledger, 20);
  Asker second(ledger, 90);
  Asker third(ledger, 30);
  ledger.set_cap(80);
  ASSERT_EQ(second.answer(), Answer::refused) << "not even first, but it can never be served";
  EXPECT_EQ(second.refusal().bytes_free(), 80);
  EXPECT_EQ(ledger.waiting(), 2);
  ledger.set_cap(150);
  EXPECT_EQ(first.answer(), Answer::granted);
  EXPECT_EQ(third.answer(), Answer::granted);
}

TEST(Reserve, StoppedItLeavesTheLineToTheNext) {
  Ledger ledger(100);
  Holder holder(ledger, 60);
  Asker large(ledger, 100);
  Asker small(ledger, 40);
  EXPECT_EQ(ledger.waiting(), 2);
  large.stop();
  EXPECT_EQ(large.answer(), Answer::stopped);
  EXPECT_EQ(small.answer(), Answer::granted);
  EXPECT_EQ(ledger.held(), 100);
}

TEST(Reserve, AStopThatCameBeforeDoesNotWaitButTakesWhatIsFree) {
  Ledger ledger(100);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(ledger.reserve(Tag::activations, 100, stop.get_token()));
  Holder holder(ledger, 60);
  EXPECT_FALSE(ledger.reserve(Tag::activations, 50, stop.get_token()));
  EXPECT_EQ(ledger.waiting(), 0);
}

TEST(TryReserve, TakesWhatIsFreeAndNeverWaits) {
  Ledger ledger(100);
  Holder holder(ledger, 60);
  EXPECT_FALSE(ledger.try_reserve(41));
  EXPECT_FALSE(ledger.try_reserve(101));
  EXPECT_EQ(ledger.held(), 60);
  const std::optional<Reservation> mine = ledger.try_reserve(40);
  ASSERT_TRUE(mine);
  EXPECT_EQ(ledger.held(), 100);
}

/// Blocks as an engine would run them: reserved in order, ended in order, of sizes that seldom fit together.
TEST(Reserve, OrderedWorkersThatReserveInOrderEnd) {
  constexpr int64_t kItems = 2000;
  for (const int64_t cap : {100, 150, 300}) {
    Ledger ledger(cap);
    Workers workers(4);
    std::vector<std::optional<Reservation>> slots(4);
    std::atomic<int64_t> most = 0;
    int64_t sum = 0;
    workers.run_stream(
        [&](int64_t item, int worker) {
          if (item == kItems) return false;
          slots[static_cast<size_t>(worker)] = ledger.reserve(Tag::activations, 1 + item * 37 % 100);
          return true;
        },
        [&](int64_t item, Turn& turn) {
          std::optional<Reservation> block;
          block.swap(slots[static_cast<size_t>(turn.worker())]);
          ledger.take(Tag::activations, block->bytes());
          if (ledger.held() > most) most = ledger.held();
          ledger.give(Tag::activations, block->bytes());
          turn.wait();
          sum = sum * 31 % 1'000'003 + item;
        });
    EXPECT_LE(most, cap);
    EXPECT_LE(ledger.peak(), cap);
    EXPECT_EQ(ledger.held(), 0);
  }
}

TEST(Reserve, ARunThatFailsLetsGoOfAllReservations) {
  Ledger ledger(100);
  Workers workers(4);
  std::vector<std::optional<Reservation>> slots(4);
  const auto take = [&](int64_t item, int worker) {
    if (item == 1000) return false;
    slots[static_cast<size_t>(worker)] = ledger.reserve(Tag::activations, 40);
    return true;
  };
  const auto work = [&](int64_t item, Turn& turn) {
    std::optional<Reservation> block;
    block.swap(slots[static_cast<size_t>(turn.worker())]);
    if (item == 100) throw Failure("the item");
    turn.wait();
  };
  EXPECT_THROW(workers.run_stream(take, work), Failure);
  EXPECT_EQ(ledger.held(), 0);
  EXPECT_EQ(ledger.waiting(), 0);
}

TEST(Reserve, TheSumStaysWithinTheCapUnderRacingThreads) {
  constexpr int kThreads = 8;
  constexpr int64_t kCap = 1000;
  Ledger ledger(kCap);
  std::atomic<int64_t> promised = 0;  // what the threads believe they hold: also within the cap
  std::atomic<int64_t> overfull = 0;
  std::atomic<int64_t> contended = 0;
  std::atomic<int64_t> refused = 0;
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      const Tag tag = thread % 2 == 0 ? Tag::activations : Tag::gradients;
      const auto check = [&](int64_t mine) {
        if ((promised += mine) > kCap || ledger.held() > kCap) ++overfull;
      };
      start.arrive_and_wait();
      for (int64_t i = 0; i < 3000; ++i) {
        const int64_t bytes = 100 + (i * 37 + thread * 101) % 300;
        int64_t taken = 0;
        try {
          if (ledger.held() + bytes > kCap) ++contended;
          std::optional<Reservation> mine =
              i % 5 == 0 ? ledger.try_reserve(bytes) : ledger.reserve(tag, bytes);
          if (!mine) continue;
          check(bytes);
          try {
            for (const int64_t piece : {bytes / 2, bytes - bytes / 2, bytes / 4}) {
              const int64_t before = mine->bytes();
              ledger.take(tag, piece);
              taken += piece;
              check(mine->bytes() - before);
            }
          } catch (const BudgetExceeded&) {
            ++refused;
          }
          if (i % 16 == 0) std::this_thread::yield();
          promised -= mine->bytes();
          if (i % 3 != 0) ledger.give(tag, std::exchange(taken, 0));
        } catch (const BudgetExceeded&) {
          ++refused;  // for what outlived the reservations of others
        }
        if (taken > 0) ledger.give(tag, taken);
      }
    });
  threads.clear();
  EXPECT_EQ(overfull, 0);
  EXPECT_GT(contended, 0) << "the threads never met: the test proves nothing";
  EXPECT_GT(refused, 0) << "nothing ever grew past the cap: the test proves nothing";
  EXPECT_LE(ledger.peak(), kCap);
  EXPECT_EQ(ledger.held(), 0);
  EXPECT_EQ(ledger.reserved(), 0);
  EXPECT_EQ(ledger.held(Tag::activations), 0);
  EXPECT_EQ(ledger.held(Tag::gradients), 0);
}

}  // namespace
}  // namespace plimsoll
