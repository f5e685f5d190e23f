#include "loader/batch_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "memory/ledger.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

constexpr std::array<int64_t, 3> kBytes = {0, 1000, 1 << 20};

int64_t held() {
  return Ledger::process().held(Tag::blocks);
}

TEST(BatchMemory, CountsWhatIsDeliveredApart) {
  const int64_t before = held();
  const auto memory = BatchMemory::make();
  std::vector<BatchBuffer> batch = memory->take(kBytes);
  for (size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(batch[i].data()) % 64, 0U);
    std::memset(batch[i].data(), 1, static_cast<size_t>(kBytes[i]));
  }
  const int64_t taken = held() - before;
  EXPECT_EQ(memory->ahead(), taken);
  EXPECT_EQ(memory->live(), 0);
  for (BatchBuffer& buffer : batch) buffer.deliver();
  EXPECT_EQ(memory->ahead(), 0);
  EXPECT_EQ(memory->live(), taken);
  batch.clear();
  EXPECT_EQ(memory->live(), 0);
  EXPECT_EQ(held(), before);
}

TEST(BatchMemory, UsesFreedBuffersAgainWhileItKeepsThem) {
  const int64_t before = held();
  const auto memory = BatchMemory::make();
  {
    const BatchMemory::Keeping keeping(*memory);
    const void* const data = memory->take(kBytes)[2].data();
    EXPECT_GE(held() - before, 1 << 20);
    EXPECT_EQ(memory->take(kBytes)[2].data(), data);
    const std::array<int64_t, 1> little_less = {(1 << 20) - 1000};
    EXPECT_EQ(memory->take(little_less)[0].data(), data);
  }
  EXPECT_EQ(held(), before);
}

TEST(BatchMemory, KeepsNoMoreThanItMayHoldAhead) {
  const int64_t before = held();
  const auto memory = BatchMemory::make();
  const BatchMemory::Keeping keeping(*memory);
  {
    std::vector<std::vector<BatchBuffer>> batches;
    for (int i = 0; i < 32; ++i) batches.push_back(memory->take(kBytes));
    for (auto& batch : batches)
      for (BatchBuffer& buffer : batch) buffer.deliver();
  }
  EXPECT_LE(held() - before, BatchMemory::kAhead);
  EXPECT_GE(held() - before, BatchMemory::kAhead / 2);
}

TEST(BatchMemory, WhatIsKeptGivesWay) {
  const auto memory = BatchMemory::make();
  const BatchMemory::Keeping keeping(*memory);
  const int64_t before = held();
  memory->take(kBytes);
  const std::array<int64_t, 1> other = {3 << 20};
  const LedgerCap cap((before + (3 << 20)) - held());
  memory->take(other);
  const std::array<int64_t, 1> too_much = {4 << 20};
  EXPECT_THROW(memory->take(too_much), BudgetExceeded);
}

TEST(BatchMemory, ARefusalOfTheSystemIsOneOfTheBudget) {
  const int64_t before = held();
  const auto memory = BatchMemory::make();
  const std::array<int64_t, 3> bytes = {1000, 1 << 20, int64_t{1} << 55};
  EXPECT_THROW(memory->take(bytes), BudgetExceeded);
  EXPECT_EQ(memory->ahead(), 0);
  EXPECT_EQ(held(), before);
}

TEST(BatchMemory, BuffersOutliveTheirLoaderOnAnyThread) {
  const int64_t before = held();
  std::vector<BatchBuffer> batch = BatchMemory::make()->take(kBytes);
  std::thread([&] { batch.clear(); }).join();
  EXPECT_EQ(held(), before);
}

TEST(BatchMemory, AChildOfForkFreesWhatItsParentTook) {
  const auto memory = BatchMemory::make();
  std::vector<BatchBuffer> batch = memory->take(kBytes);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    batch.clear();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace plimsoll
