#include "rows/shared_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "memory/ledger.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using Rows = std::vector<int64_t>;
using ::testing::HasSubstr;

class SharedScanTest : public testing::Test {
 protected:
  static constexpr int64_t kRowBytes = 256;

  RowLayout make_file(int64_t rows) {
    std::mt19937 random(3);
    bytes_.resize(static_cast<size_t>(rows * kRowBytes));
    for (char& byte : bytes_) byte = static_cast<char>(random());
    write_bytes(file_, bytes_);
    return {0, kRowBytes, rows};
  }
  std::string expected(const Rows& rows) const {
    std::string out;
    for (const int64_t row : rows) out.append(bytes_, static_cast<size_t>(row * kRowBytes), kRowBytes);
    return out;
  }
  static std::string gather(SharedScan& sweep, const Rows& rows) {
    std::string out(rows.size() * kRowBytes, '?');
    sweep.gather(rows, reinterpret_cast<std::byte*>(out.data()));
    return out;
  }
  // Approximate bytes of a scan with `slots` slots.
  static int64_t bytes_of(const RowLayout& layout, int64_t slots) {
    return SharedScan::min_bytes(layout) + slots * (kRowBytes + 60);
  }
  static Rows random_rows(std::mt19937& random, int64_t rows, size_t max) {
    Rows batch(random() % max + 1);
    for (int64_t& row : batch) row = static_cast<int64_t>(random() % static_cast<uint32_t>(rows));
    std::ranges::sort(batch);
    batch.erase(std::ranges::unique(batch).begin(), batch.end());
    std::ranges::shuffle(batch, random);
    return batch;
  }

  TempFolder folder_;
  std::filesystem::path file_ = folder_ / "rows";
  std::string bytes_;
};

// Plans batches as far ahead as possible, gathers some out of order and gives up others.
TEST_F(SharedScanTest, GathersWhatStandsInTheFile) {
  const RowLayout layout = make_file(3000);
  for (const int64_t slots : {100, 700, 3000}) {
    SharedScan sweep(file_, layout, bytes_of(layout, slots));
    std::mt19937 random(static_cast<uint32_t>(slots));
    std::deque<Rows> planned;
    Rows next = random_rows(random, layout.rows, 60);
    for (int turn = 0; turn < 400; ++turn) {
      while (planned.size() < 50 && sweep.plan(next)) {
        planned.push_back(next);
        next = random_rows(random, layout.rows, 60);
      }
      ASSERT_FALSE(planned.empty());
      const size_t at = random() % std::min<size_t>(3, planned.size());
      const Rows batch = planned[at];
      planned.erase(planned.begin() + static_cast<std::ptrdiff_t>(at));
      if (turn % 7 != 0) {
        ASSERT_EQ(gather(sweep, batch), expected(batch)) << turn;
      }
      sweep.end(batch);
    }
    for (const Rows& batch : planned) sweep.end(batch);
  }
}

TEST_F(SharedScanTest, ARowIsReadOnceForAllBatchesThatArePlanned) {
  const RowLayout layout = make_file(500);
  SharedScan sweep(file_, layout, bytes_of(layout, 200));
  const Rows first{5, 7, 9}, second{9, 5, 400};
  ASSERT_TRUE(sweep.plan(first));
  ASSERT_TRUE(sweep.plan(second));
  EXPECT_EQ(sweep.counters().misses, 4);
  EXPECT_EQ(sweep.counters().hits, 2);
  EXPECT_EQ(gather(sweep, first), expected(first));
  sweep.end(first);
  EXPECT_EQ(gather(sweep, second), expected(second));
  sweep.end(second);
  ASSERT_TRUE(sweep.plan(first));  // The rows have stayed.
  EXPECT_EQ(sweep.counters().misses, 4);
  EXPECT_EQ(sweep.counters().bytes_useful, 4 * kRowBytes);
  EXPECT_GE(sweep.counters().bytes_read, 4 * kRowBytes);
}

// The most used rows stay in memory while there is space besides the planned rows.
TEST_F(SharedScanTest, RowsThatAreUsedLeastGoFirst) {
  const RowLayout layout = make_file(2000);
  SharedScan sweep(file_, layout, SharedScan::min_bytes(layout));
  std::vector<uint8_t> uses(2000, 1);
  uses[3] = 200;
  sweep.set_uses(uses);
  const auto use = [&](const Rows& batch) {
    ASSERT_TRUE(sweep.plan(batch));
    EXPECT_EQ(gather(sweep, batch), expected(batch));
    sweep.end(batch);
  };
  use({3});
  for (int64_t row = 100; row < 100 + 4 * sweep.slots(); ++row) use({row});
  const int64_t before = sweep.counters().misses;
  use({3});
  EXPECT_EQ(sweep.counters().misses, before);
  use({100});
  EXPECT_EQ(sweep.counters().misses, before + 1);
}

TEST_F(SharedScanTest, PlansNoMoreThanThereIsRoomFor) {
  const RowLayout layout = make_file(2000);
  SharedScan sweep(file_, layout, SharedScan::min_bytes(layout));
  Rows all(static_cast<size_t>(sweep.slots()));
  std::iota(all.begin(), all.end(), 0);
  const Rows more{1999};
  ASSERT_TRUE(sweep.plan(all));
  EXPECT_FALSE(sweep.plan(more));
  EXPECT_TRUE(sweep.plan(Rows{3, 4}));  // These rows are in memory.
  EXPECT_EQ(gather(sweep, all), expected(all));
  sweep.end(all);
  EXPECT_TRUE(sweep.plan(more));
  EXPECT_EQ(gather(sweep, {3, 4}), expected({3, 4}));
  Rows too_many(all.size() - 2);
  std::iota(too_many.begin(), too_many.end(), 500);
  EXPECT_FALSE(sweep.plan(too_many));
}

TEST_F(SharedScanTest, ManyThreadsGatherAtOnce) {
  const RowLayout layout = make_file(4000);
  SharedScan sweep(file_, layout, bytes_of(layout, 1500));
  std::vector<std::jthread> threads;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int turn = 0; turn < 100; ++turn) {
        const Rows batch = random_rows(random, layout.rows, 300);
        while (!sweep.plan(batch)) std::this_thread::yield();
        EXPECT_EQ(gather(sweep, batch), expected(batch));
        sweep.end(batch);
      }
    });
}

// A failing disk fails the waiting batch; the next read is tried again.
TEST_F(SharedScanTest, AFileThatWasCutShortIsAnErrorOfWhoWaits) {
  const RowLayout layout = make_file(3000);
  SharedScan sweep(file_, layout, bytes_of(layout, 300));
  std::filesystem::resize_file(file_, 1000 * kRowBytes);
  const Rows gone{2500, 2600}, present{10, 20};
  ASSERT_TRUE(sweep.plan(gone));
  for (int turn = 0; turn < 2; ++turn)
    EXPECT_THAT(error_text<InputError>([&] { gather(sweep, gone); }), HasSubstr(file_.string()));
  sweep.end(gone);
  ASSERT_TRUE(sweep.plan(present));
  EXPECT_EQ(gather(sweep, present), expected(present));
  sweep.end(present);
}

TEST_F(SharedScanTest, TakesItsBytesAndNoMore) {
  Ledger& ledger = Ledger::process();
  for (const int64_t rows : {10, 1000, 50'000}) {
    const RowLayout layout = make_file(rows);
    for (const int64_t bytes :
         {SharedScan::min_bytes(layout), SharedScan::min_bytes(layout) * 2, SharedScan::max_bytes(layout)}) {
      const int64_t before = ledger.held();
      SharedScan sweep(file_, layout, bytes);
      EXPECT_LE(ledger.held() - before, bytes);
      if (bytes == SharedScan::max_bytes(layout)) {
        EXPECT_EQ(sweep.slots(), rows);
      }
    }
    EXPECT_THAT(error_text<UsageError>([&] { SharedScan(file_, layout, SharedScan::min_bytes(layout) / 2); }),
                HasSubstr("expected"));
  }
}

// The destructor does not wait for planned rows that are not read yet.
TEST_F(SharedScanTest, ItsEndWaitsForOneReadAlone) {
  constexpr int64_t kLong = 64 * 1024, kMany = 4096;
  std::ofstream(file_).close();
  std::filesystem::resize_file(file_, kLong * kMany);
  const auto bytes_read = [] {  // Bytes read by this process.
    std::ifstream counts("/proc/self/io");
    std::string name;
    int64_t bytes = 0;
    counts >> name >> bytes;
    return bytes;
  };
  ::setenv("PLIMSOLL_READ", "pool", 1);
  const RowLayout layout{0, kLong, kMany};
  constexpr int64_t kSlots = kMany / 2;
  int64_t before = 0;
  {
    SharedScan sweep(file_, layout, SharedScan::min_bytes(layout) + kSlots * (kLong + 100) * 16 / 15);
    Rows rows(kSlots);
    std::iota(rows.begin(), rows.end(), 0);
    ASSERT_TRUE(sweep.plan(rows));
    before = bytes_read();
  }
  ::unsetenv("PLIMSOLL_READ");
  EXPECT_LT(bytes_read() - before, kSlots / 2 * kLong);
}

}  // namespace
}  // namespace plimsoll
