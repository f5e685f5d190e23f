#include "memory/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace plimsoll {
namespace {

using testing::HasSubstr;

TEST(Ledger, CountsWhatIsHeldInAllAndUnderEachTag) {
  Ledger ledger;
  ledger.take(Tag::blocks, 100);
  ledger.take(Tag::output, 30);
  ledger.take(Tag::blocks, 5);
  EXPECT_EQ(ledger.held(), 135);
  EXPECT_EQ(ledger.held(Tag::blocks), 105);
  EXPECT_EQ(ledger.held(Tag::output), 30);
  EXPECT_EQ(ledger.held(Tag::ingest), 0);
  ledger.give(Tag::blocks, 100);
  ledger.give(Tag::output, 30);
  ledger.give(Tag::blocks, 5);
  EXPECT_EQ(ledger.held(), 0);
  EXPECT_EQ(ledger.held(Tag::blocks), 0);
}

TEST(Ledger, KeepsThePeakOfTheSumAndOfEachTag) {
  Ledger ledger;
  ledger.take(Tag::blocks, 100);
  ledger.give(Tag::blocks, 60);
  ledger.take(Tag::output, 50);
  EXPECT_EQ(ledger.peak(), 100);
  EXPECT_EQ(ledger.peak(Tag::blocks), 100);
  EXPECT_EQ(ledger.peak(Tag::output), 50);
  ledger.take(Tag::output, 11);
  EXPECT_EQ(ledger.peak(), 101);
}

TEST(Ledger, TheRecentPeakBeginsAtWhatIsHeld) {
  Ledger ledger;
  ledger.take(Tag::blocks, 100);
  ledger.give(Tag::blocks, 90);
  ledger.begin_recent();
  EXPECT_EQ(ledger.recent_peak(), 10);
  ledger.take(Tag::blocks, 7);
  ledger.give(Tag::blocks, 7);
  EXPECT_EQ(ledger.recent_peak(), 17);
  EXPECT_EQ(ledger.peak(), 100);
}

TEST(Ledger, TheRecentPeakOfATagBeginsAtWhatItHolds) {
  Ledger ledger;
  ledger.take(Tag::blocks, 100);
  ledger.take(Tag::output, 5);
  ledger.give(Tag::blocks, 90);
  ledger.begin_recent();
  EXPECT_EQ(ledger.recent_peak(Tag::blocks), 10);
  ledger.take(Tag::blocks, 7);
  ledger.give(Tag::blocks, 17);
  EXPECT_EQ(ledger.recent_peak(Tag::blocks), 17);
  EXPECT_EQ(ledger.recent_peak(Tag::output), 5);
  EXPECT_EQ(ledger.peak(Tag::blocks), 100);
}

TEST(Ledger, FillsUpToTheCapToTheByte) {
  Ledger ledger(100);
  ledger.take(Tag::blocks, 100);
  EXPECT_EQ(ledger.held(), 100);
  EXPECT_THROW(ledger.take(Tag::blocks, 1), BudgetExceeded);
  ledger.take(Tag::blocks, 0);
}

TEST(Ledger, ARefusalEntersNothing) {
  Ledger ledger(100);
  ledger.take(Tag::blocks, 60);
  EXPECT_THROW(ledger.take(Tag::output, 41), BudgetExceeded);
  EXPECT_EQ(ledger.held(), 60);
  EXPECT_EQ(ledger.held(Tag::output), 0);
  EXPECT_EQ(ledger.peak(), 60);
  EXPECT_EQ(ledger.peak(Tag::output), 0);
  EXPECT_EQ(ledger.recent_peak(), 60);
  ledger.take(Tag::output, 40);
}

TEST(Ledger, ARefusalSaysWhatWasAskedWhatIsFreeAndTheRemedy) {
  Ledger ledger(5000);
  ledger.take(Tag::blocks, 3000);
  try {
    ledger.take(Tag::optimizer, 4048);
    FAIL() << "the cap was passed";
  } catch (const BudgetExceeded& refusal) {
    EXPECT_EQ(refusal.exit_code(), 4);
    EXPECT_EQ(refusal.tag(), Tag::optimizer);
    EXPECT_EQ(refusal.bytes_asked(), 4048);
    EXPECT_EQ(refusal.bytes_free(), 2000);
    for (const char* part : {"'optimizer'", "4048 bytes", "2000 bytes free", "5000 bytes",
                             "raise the budget by at least 2 KiB; more may be missing after that"})
      EXPECT_THAT(refusal.what(), HasSubstr(part));
  }
}

TEST(Ledger, ACapBelowWhatIsHeldRefusesAndTakesNothingAway) {
  Ledger ledger;
  ledger.take(Tag::blocks, 100);
  ledger.set_cap(50);
  EXPECT_EQ(ledger.held(), 100);
  try {
    ledger.take(Tag::blocks, 1);
    FAIL() << "the cap was passed";
  } catch (const BudgetExceeded& refusal) {
    EXPECT_EQ(refusal.bytes_free(), 0);
    EXPECT_EQ(refusal.bytes_missing(), 51);
    EXPECT_THAT(refusal.what(),
                HasSubstr("0 bytes free of 50 bytes after the floor; raise the budget by at least 51 B"));
  }
  ledger.give(Tag::blocks, 60);
  ledger.take(Tag::blocks, 10);
}

TEST(Ledger, AnUnlimitedOneDoesNotOverflow) {
  Ledger ledger;
  ledger.take(Tag::blocks, Ledger::kUnlimited - 10);
  EXPECT_THROW(ledger.take(Tag::blocks, 11), BudgetExceeded);
  ledger.give(Tag::blocks, Ledger::kUnlimited - 10);
  EXPECT_EQ(ledger.held(), 0);
}

TEST(Ledger, NeverPassesTheCapUnderRacingThreads) {
  constexpr int kThreads = 8;
  constexpr int64_t kCap = 1000;
  Ledger ledger(kCap);
  // Bytes that threads count as held. They must stay within the cap, too.
  std::atomic<int64_t> granted = 0;
  std::atomic<int> overfull = 0;
  std::atomic<int> refused = 0;
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      const Tag tag = thread % 2 == 0 ? Tag::activations : Tag::gradients;
      start.arrive_and_wait();
      for (int64_t i = 0; i < 20'000; ++i) {
        const int64_t bytes = 150 + (i * 37 + thread * 101) % 200;
        try {
          ledger.take(tag, bytes);
        } catch (const BudgetExceeded&) {
          ++refused;
          continue;
        }
        if ((granted += bytes) > kCap || ledger.held() > kCap) ++overfull;
        if (i % 16 == 0) std::this_thread::yield();
        granted -= bytes;
        ledger.give(tag, bytes);
      }
    });
  threads.clear();
  EXPECT_EQ(overfull, 0);
  EXPECT_GT(refused, 0) << "the threads never met: the test proves nothing";
  EXPECT_LE(ledger.peak(), kCap);
  EXPECT_LE(ledger.peak(Tag::activations), kCap);
  EXPECT_EQ(ledger.held(), 0);
  EXPECT_EQ(ledger.held(Tag::activations), 0);
  EXPECT_EQ(ledger.held(Tag::gradients), 0);
}

TEST(TagName, EveryTagHasOneOfItsOwn) {
  std::set<std::string> names;
  for (int tag = 0; tag < kTags; ++tag) names.insert(tag_name(static_cast<Tag>(tag)));
  EXPECT_EQ(static_cast<int>(names.size()), kTags);
  EXPECT_STREQ(tag_name(Tag::ingest), "ingest");
  EXPECT_STREQ(tag_name(Tag::other), "other");
}

TEST(Ledger, TheProcessHasOne) {
  EXPECT_EQ(&Ledger::process(), &Ledger::process());
}

}  // namespace
}  // namespace plimsoll
