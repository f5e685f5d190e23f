#include "rows/row_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using Rows = std::vector<int64_t>;
using testing::HasSubstr;

class RowCacheTest : public testing::Test {
 protected:
  static constexpr int64_t kRowBytes = 24;

  // A file of rows, and a reader of it.
  RowReader& make_reader(int64_t rows) {
    std::mt19937 random(3);
    bytes_.resize(static_cast<size_t>(rows * kRowBytes));
    for (char& byte : bytes_) byte = static_cast<char>(random());
    write_bytes(file_, bytes_);
    return reader_.emplace(file_, RowLayout{0, kRowBytes, rows});
  }
  // What a cache of so many slots takes.
  static int64_t bytes_of(int64_t slots) {
    return slots * (kRowBytes + 8 + NextUseOrder::kSlotBytes) + RowTable<int32_t>::bytes_for(slots);
  }
  std::string expected(const Rows& rows) const {
    std::string out;
    for (const int64_t row : rows) out.append(bytes_, static_cast<size_t>(row * kRowBytes), kRowBytes);
    return out;
  }
  static std::string gather(RowCache& cache, const Rows& rows, bool planned) {
    std::string out(rows.size() * kRowBytes, '?');
    auto* const data = reinterpret_cast<std::byte*>(out.data());
    if (planned)
      cache.gather_planned(data);
    else
      cache.gather(rows, data);
    return out;
  }
  // Batches of different rows, of which low ones are wanted more often.
  static std::vector<Rows> random_batches(size_t count, int64_t rows, size_t longest, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Rows> batches(count);
    for (Rows& batch : batches) {
      const size_t length = random() % (longest + 1);
      for (size_t i = 0; i < length; ++i) {
        const double at = static_cast<double>(random()) / 4294967296.0;
        const auto row = static_cast<int64_t>(at * at * static_cast<double>(rows));
        if (std::find(batch.begin(), batch.end(), row) == batch.end()) batch.push_back(row);
      }
    }
    return batches;
  }

  TempFolder folder_;
  std::filesystem::path file_ = folder_ / "rows";
  std::string bytes_;
  std::optional<RowReader> reader_;
};

// The fewest misses of a cache that may hold any `slots` of the rows it has seen: all ways to choose them.
int64_t fewest_by_trying(const std::vector<Rows>& batches, int slots) {
  std::map<uint32_t, int64_t> misses = {{0, 0}};  // by what is in the cache
  for (const Rows& batch : batches) {
    uint32_t wanted = 0;
    for (const int64_t row : batch) wanted |= 1U << row;
    std::map<uint32_t, int64_t> after;
    for (const auto& [held, so_far] : misses) {
      const int64_t now = so_far + std::popcount(wanted & ~held);
      const uint32_t all = held | wanted;
      for (uint32_t kept = all;; kept = (kept - 1) & all) {
        if (std::popcount(kept) <= slots) {
          const auto [at, added] = after.emplace(kept, now);
          if (!added) at->second = std::min(at->second, now);
        }
        if (kept == 0) break;
      }
    }
    misses = std::move(after);
  }
  return std::min_element(misses.begin(), misses.end(), [](auto& a, auto& b) { return a.second < b.second; })
      ->second;
}

TEST_F(RowCacheTest, GivesTheBytesOfTheFileForEveryBudgetAndPlan) {
  RowReader& reader = make_reader(500);
  const auto batches = random_batches(60, 500, 80, 5);
  for (const int64_t slots : {1, 10, 100, 400, 5000})
    for (const int64_t ahead : {0, 700, 10'000})
      for (const size_t horizon : {0, 1, 7, 60}) {
        RowCache cache(reader, {bytes_of(slots) + ahead, ahead});
        ASSERT_EQ(cache.slots(), std::min<int64_t>(slots, 500));
        size_t planned = 0;
        int64_t rows = 0;
        for (size_t b = 0; b < batches.size(); ++b) {
          for (; planned < std::min(b + horizon, batches.size()); ++planned) cache.plan(batches[planned]);
          ASSERT_EQ(gather(cache, batches[b], horizon > 0), expected(batches[b])) << slots << " " << horizon;
          rows += static_cast<int64_t>(batches[b].size());
          if (b % 5 != 0) continue;  // nobody planned these
          const Rows twice = {7, 499, 7, static_cast<int64_t>(b), 499};
          ASSERT_EQ(gather(cache, twice, false), expected(twice));
          rows += 5;
        }
        const RowCounters counters = cache.counters();
        EXPECT_EQ(counters.hits + counters.misses, rows);
        EXPECT_EQ(counters.bytes_useful, counters.misses * kRowBytes);
      }
}

TEST_F(RowCacheTest, MissesAreTheFewestThereCanBeWhenAllIsPlanned) {
  RowReader& reader = make_reader(7);
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const auto batches = random_batches(9, 7, 4, seed);
    for (int slots = 1; slots <= 5; ++slots) {
      RowCache cache(reader, {bytes_of(slots)});
      for (const Rows& batch : batches) cache.plan(batch);
      for (const Rows& batch : batches) ASSERT_EQ(gather(cache, batch, true), expected(batch));
      const int64_t fewest = fewest_by_trying(batches, slots);
      ASSERT_EQ(cache.counters().misses, fewest) << "seed " << seed << ", " << slots << " slots";
      ASSERT_EQ(cache.counters().fewest_misses, fewest);
    }
  }
}

TEST_F(RowCacheTest, LongerPlansMissLess) {
  RowReader& reader = make_reader(2000);
  const auto batches = random_batches(200, 2000, 300, 9);
  std::vector<int64_t> misses;
  for (const size_t horizon : {0, 2, 8, 200}) {
    RowCache cache(reader, {bytes_of(300)});
    size_t planned = 0;
    for (size_t b = 0; b < batches.size(); ++b) {
      for (; planned < std::min(b + horizon, batches.size()); ++planned) cache.plan(batches[planned]);
      gather(cache, batches[b], horizon > 0);
    }
    const RowCounters counters = cache.counters();
    misses.push_back(counters.misses);
    EXPECT_LE(counters.fewest_misses, counters.planned_misses);
    if (horizon == 200) {
      EXPECT_EQ(counters.fewest_misses, counters.misses);
    }
    if (horizon == 8) {
      EXPECT_LE(static_cast<double>(counters.misses), 1.05 * static_cast<double>(counters.fewest_misses));
    }
  }
  EXPECT_TRUE(std::is_sorted(misses.rbegin(), misses.rend())) << testing::PrintToString(misses);
  EXPECT_LT(misses.back(), misses.front() * 9 / 10);
}

TEST_F(RowCacheTest, WithoutAPlanTheLeastRecentlyUsedRowGoes) {
  RowReader& reader = make_reader(30);
  RowCache cache(reader, {bytes_of(8)});
  std::mt19937 random(11);
  Rows recent;
  int64_t misses = 0;
  for (int step = 0; step < 2000; ++step) {
    const auto row = static_cast<int64_t>(random() % 12);
    const auto at = std::find(recent.begin(), recent.end(), row);
    if (at == recent.end())
      ++misses;
    else
      recent.erase(at);
    recent.insert(recent.begin(), row);
    recent.resize(std::min<size_t>(recent.size(), 8));
    ASSERT_EQ(gather(cache, {row}, false), expected({row}));
    ASSERT_EQ(cache.counters().misses, misses);
  }
}

TEST_F(RowCacheTest, LedgerHoldsWhatItWasGivenAndGetsItBack) {
  RowReader& reader = make_reader(20'000);
  const auto batches = random_batches(20, 20'000, 3000, 2);
  const int64_t before = Ledger::process().held();
  for (const int64_t bytes : {5'000, 100'000, 300'001}) {
    RowCache cache(reader, {bytes, bytes / 4});
    for (const Rows& batch : batches) cache.plan(batch);
    for (const Rows& batch : batches) gather(cache, batch, true);
  }
  EXPECT_EQ(Ledger::process().held(), before);
  {
    const RowPlan plan;
    const int64_t empty_plan = Ledger::process().held() - before;
    const RowCache cache(reader, {100'000, 25'000});
    const int64_t held = Ledger::process().held() - before - 2 * empty_plan;
    EXPECT_LE(held, 100'000);
    EXPECT_GT(held, 100'000 - 2 * 64) << "less than a slot and a row ahead is left";
  }
  EXPECT_THAT(error_text<UsageError>([&] {
                RowCache(reader, {100, 50});
              }),
              HasSubstr("has no room for a row of 24"));
}

TEST_F(RowCacheTest, RefusedPlanChangesNothing) {
  RowReader& reader = make_reader(20'000);
  RowCache cache(reader, {bytes_of(1000)});
  Rows rows(2000);
  std::iota(rows.begin(), rows.end(), 100);
  cache.plan(rows);
  gather(cache, rows, true);  // the list of misses has its length
  int64_t planned = 0;
  {
    const LedgerCap cap(500'000);
    error_text<BudgetExceeded>([&] {
      for (;; ++planned) cache.plan(rows);
    });
    EXPECT_GT(planned, 3);
    EXPECT_EQ(cache.planned(), planned);
    for (; planned > 0; --planned) ASSERT_EQ(gather(cache, rows, true), expected(rows));
  }
  EXPECT_EQ(cache.counters().misses, cache.counters().fewest_misses);
}

TEST_F(RowCacheTest, ErrorsOfTheDiskReachTheCallerAndEndABatch) {
  RowReader& reader = make_reader(2000);
  for (const int64_t ahead : {0, 4000}) {
    write_bytes(file_, bytes_);
    RowCache cache(reader, {bytes_of(50) + ahead, ahead});
    cache.plan(Rows{1, 2, 3});
    gather(cache, {1, 2, 3}, true);
    std::filesystem::resize_file(file_, 8192);
    cache.plan(Rows{2, 1999});
    cache.plan(Rows{3, 4});
    EXPECT_THAT(error_text<InputError>([&] { gather(cache, {2, 1999}, true); }), HasSubstr("cut short"));
    EXPECT_EQ(gather(cache, {3, 4}, true), expected({3, 4}));
    EXPECT_EQ(cache.planned(), 0);
  }
}

TEST_F(RowCacheTest, WhatIsNotAPlanIsAFailure) {
  RowReader& reader = make_reader(10);
  RowCache cache(reader, {bytes_of(4)});
  EXPECT_EQ(error_text<Failure>([&] { cache.gather_planned(nullptr); }),
            "rows of a planned batch are asked for, and none is planned");
  EXPECT_EQ(error_text<Failure>([&] { cache.plan(Rows{4, 5, 4}); }), "row 4 is twice in a planned batch");
}

TEST_F(RowCacheTest, APlanThatIsForgottenLeavesItsRows) {
  RowReader& reader = make_reader(40);
  for (const int64_t ahead : {0, 200}) {
    RowCache cache(reader, {bytes_of(6) + ahead, ahead});
    for (int64_t first = 0; first < 20; first += 2) cache.plan(Rows{first, first + 1, 30});
    EXPECT_EQ(gather(cache, {0, 1, 30}, true), expected({0, 1, 30}));
    cache.forget_plan();
    cache.forget_plan();
    EXPECT_EQ(cache.planned(), 0);
    const int64_t before = cache.counters().misses;
    for (int64_t first = 20; first < 30; first += 2) cache.plan(Rows{first, first + 1, 1});
    for (int64_t first = 20; first < 30; first += 2)
      EXPECT_EQ(gather(cache, {first, first + 1, 1}, true), expected({first, first + 1, 1}));
    EXPECT_EQ(cache.counters().misses, before + 10);
  }
}

}  // namespace
}  // namespace plimsoll
