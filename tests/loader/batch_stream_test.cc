#include "loader/batch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <latch>
#include <stop_token>
#include <thread>

#include "loader/batch_collation.h"
#include "loader/loader_set.h"
#include "memory/ledger.h"
#include "memory/shrinker.h"
#include "support/errors.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

constexpr int64_t kGraphs = 24;

class BatchStreams : public testing::Test {
 protected:
  BatchStream stream(int64_t ahead, int64_t graphs_a_batch = 1, int64_t first = 0) const {
    const BatchLister lister(*set_, fields_, first_numbers(kGraphs), {.graphs = graphs_a_batch});
    return BatchStream(maker(set_, fields_, lister.list(0)), first, ahead, memory_);
  }
  std::unique_ptr<BatchMaker> maker(std::shared_ptr<const GraphSetView> set, const BatchFields& fields,
                                    BatchList list) const {
    return std::make_unique<CollatedBatches>(std::move(set), fields, std::move(list), memory_);
  }
  static int64_t label(CollatedBatch& batch) { return batch[BatchField::y].as<int64_t>()[0]; }

  void wait_until_ahead(int64_t batches) const {
    const int64_t bytes = batches * fields_.bytes({1, 1000, 1000});
    for (int i = 0; i < 5000 && memory_->ahead() < bytes; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_GE(memory_->ahead(), bytes);
  }

  LoaderSet files_{kGraphs};
  std::shared_ptr<const GraphSetView> set_ = files_.open();
  BatchFields fields_{*set_};
  std::shared_ptr<BatchMemory> memory_ = BatchMemory::make();
};

TEST_F(BatchStreams, GivesTheSameBatchesHoweverFarAhead) {
  for (const int64_t ahead : {0, 1, 3}) {
    const int64_t before = Ledger::process().held();
    {
      BatchStream batches = stream(ahead);
      EXPECT_EQ(batches.size(), kGraphs);
      for (int64_t i = 0; i < kGraphs; ++i) {
        std::optional<CollatedBatch> batch = batches.next();
        ASSERT_TRUE(batch);
        EXPECT_EQ(label(*batch), i);
      }
      EXPECT_FALSE(batches.next());
      EXPECT_FALSE(batches.next());
    }
    EXPECT_EQ(Ledger::process().held(), before);
  }
}

TEST_F(BatchStreams, BeginsWhereItIsTold) {
  BatchStream batches = stream(2, 5, 3);
  for (const int64_t expected : {15, 20}) {
    std::optional<CollatedBatch> batch = batches.next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(label(*batch), expected);
  }
  EXPECT_FALSE(batches.next());
}

TEST_F(BatchStreams, MakesComingBatchesWhileOneIsUsed) {
  BatchStream batches = stream(3);
  const auto batch = batches.next();
  wait_until_ahead(3);
}

TEST_F(BatchStreams, WhatIsAheadGivesWayAndIsMadeAgain) {
  BatchStream batches = stream(3);
  for (int64_t i = 0; i < kGraphs; ++i) {
    std::optional<CollatedBatch> batch = batches.next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(label(*batch), i);
    if (i == 4) {
      wait_until_ahead(3);
      EXPECT_TRUE(Shrinker::ask());
      EXPECT_EQ(memory_->ahead(), 0);
      batch.reset();
      EXPECT_TRUE(Shrinker::ask());
      EXPECT_EQ(Ledger::process().held(Tag::blocks), 0);
    }
    if (i % 5 == 0) Shrinker::ask();  // It may be asked at any moment.
  }
  EXPECT_FALSE(batches.next());
}

// A maker that waits inside the second batch, after allocating its memory.
class WaitingMaker final : public BatchMaker {
 public:
  explicit WaitingMaker(std::shared_ptr<BatchMemory> memory) : memory_(std::move(memory)) {}
  int64_t size() const override { return 3; }
  CollatedBatch make(int64_t batch) override {
    CollatedBatch made;
    made.counts.graphs = batch;
    made.tensors = memory_->take(std::vector<int64_t>{100'000});
    if (batch == 1) {
      has_memory.count_down();
      may_end.wait();
    }
    return made;
  }
  const char* limits() const override { return ""; }

  std::latch has_memory{1};
  std::latch may_end{1};

 private:
  const std::shared_ptr<BatchMemory> memory_;
};

TEST_F(BatchStreams, WhatIsBeingMadeGivesWay) {
  auto maker = std::make_unique<WaitingMaker>(memory_);
  WaitingMaker& waiting = *maker;
  BatchStream batches(std::move(maker), 0, 2, memory_);
  batches.next();
  waiting.has_memory.wait();
  auto left = std::async(std::launch::async, [&] {
    EXPECT_TRUE(Shrinker::ask());
    return Ledger::process().held(Tag::blocks);
  });
  EXPECT_EQ(left.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  waiting.may_end.count_down();
  EXPECT_EQ(left.get(), 0);
  EXPECT_EQ(batches.next()->counts.graphs, 1);
}

TEST_F(BatchStreams, GivesWayToManyThreadsAtAnyMoment) {
  std::vector<std::jthread> asking;
  for (int i = 0; i < 3; ++i) {
    asking.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        Shrinker::ask();
        std::this_thread::yield();
      }
    });
  }
  for (int64_t round = 0; round < 30; ++round) {
    BatchStream batches = stream(1 + round % 3);
    for (int64_t i = 0; i < std::min(kGraphs, 4 + round); ++i) {
      std::optional<CollatedBatch> batch = batches.next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(label(*batch), i);
    }
  }
  asking.clear();
  EXPECT_EQ(Ledger::process().held(Tag::blocks), 0);
}

TEST_F(BatchStreams, NothingGivesWayWithoutAStream) {
  { const BatchStream batches = stream(3); }
  const BatchStream by_hand = stream(0);
  EXPECT_FALSE(Shrinker::ask());
}

TEST_F(BatchStreams, NeverWaitsForMemoryAndSaysWhatIsHeld) {
  BatchStream batches = stream(2);
  std::vector<CollatedBatch> kept;
  kept.push_back(*batches.next());
  wait_until_ahead(2);
  const LedgerCap cap(0);
  kept.push_back(*batches.next());
  kept.push_back(*batches.next());
  const std::string live = std::to_string(memory_->live()) + " bytes";
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(error_text<BudgetExceeded>([&] { batches.next(); }),
                testing::AllOf(HasSubstr("batch 4 of 24"), HasSubstr("still in use hold"), HasSubstr(live),
                               HasSubstr("max_bytes"), HasSubstr("out of budget")));
  kept.clear();
  std::optional<CollatedBatch> batch = batches.next();
  EXPECT_EQ(label(*batch), 3);
}

TEST_F(BatchStreams, GoesOnInTheSmallestBudgetThatHoldsABatch) {
  BatchStream batches = stream(4);
  const LedgerCap cap(fields_.bytes({1, 1000, 1000}) + 64 * kBatchFields);
  for (int64_t i = 0; i < kGraphs; ++i) {
    std::optional<CollatedBatch> batch = batches.next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(label(*batch), i);
  }
}

TEST_F(BatchStreams, LosesNoBatchWhateverTheBudget) {
  const int64_t before = Ledger::process().held();
  const int64_t max = 4 * fields_.bytes({3, 3000, 3000});
  for (int64_t free = 0; free < max; free += 40'009) {
    BatchStream batches = stream(2, 3);
    std::vector<CollatedBatch> kept;
    int64_t expected = 0;
    auto cap = std::make_unique<LedgerCap>(free);
    while (expected < batches.size()) {
      try {
        kept.push_back(*batches.next());
        EXPECT_EQ(label(kept.back()), 3 * expected++);
      } catch (const BudgetExceeded&) {
        if (kept.empty()) cap.reset();
        kept.clear();
      }
    }
  }
  EXPECT_EQ(Ledger::process().held(), before);
}

TEST_F(BatchStreams, MeetsADamagedGraphInItsTurn) {
  GraphColumns columns = made_up_graphs(6);
  columns.edges[static_cast<size_t>(2 * columns.edge_ptr[3])] = 77;
  const LoaderSet files(columns);
  const auto set = files.open();
  const BatchFields fields(*set);
  const BatchLister lister(*set, fields, first_numbers(6), {});
  BatchStream batches(maker(set, fields, lister.list(0)), 0, 2, memory_);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(batches.next());
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(error_text<InputError>([&] { batches.next(); }), HasSubstr("graph 3"));
}

TEST_F(BatchStreams, EndsAtAnyPoint) {
  for (int round = 0; round < 50; ++round) {
    BatchStream batches = stream(round % 4);
    for (int i = 0; i < round % 5; ++i) batches.next();
  }
}

TEST_F(BatchStreams, AChildOfForkLeavesItBehind) {
  BatchList list = BatchLister(*set_, fields_, first_numbers(kGraphs), {}).list(0);
  auto batches = std::make_unique<BatchStream>(maker(set_, fields_, std::move(list)), 0, 4, memory_);
  batches->next();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    batches.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace plimsoll
