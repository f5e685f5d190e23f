#include "rows/scanned_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
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

class ScannedRowsTest : public testing::Test {
 protected:
  static constexpr int64_t kRows = 5000;
  static constexpr int64_t kWidth = 33;

  ScannedRowsTest() {
    std::iota(values_.begin(), values_.end(), 1.0F);
    write_bytes(file_.path, {reinterpret_cast<const char*>(values_.data()), values_.size() * sizeof(float)});
  }
  std::vector<float> expected(const Rows& rows) const {
    std::vector<float> out;
    for (const int64_t row : rows) {
      const auto begin = values_.begin() + row * kWidth;
      out.insert(out.end(), begin, begin + kWidth);
    }
    return out;
  }
  static std::vector<float> room(const Rows& rows) { return std::vector<float>(rows.size() * kWidth, -1); }
  static std::vector<float> take(ScannedRows& from, const Rows& rows) {
    std::vector<float> out = room(rows);
    from.take(rows, out.data());
    return out;
  }
  static std::vector<float> read(ScannedRows& from, const Rows& rows) {
    std::vector<float> out = room(rows);
    from.read(rows, out.data());
    return out;
  }
  static Rows random_rows(std::mt19937& random, size_t max) {
    Rows batch(random() % max + 1);
    for (int64_t& row : batch) row = static_cast<int64_t>(random() % kRows);
    std::ranges::sort(batch);
    batch.erase(std::ranges::unique(batch).begin(), batch.end());
    std::ranges::shuffle(batch, random);
    return batch;
  }
  // Sizes for no scan, for the smallest, for some batches, and for all rows.
  std::vector<int64_t> sizes() const {
    const int64_t min = SharedScan::min_bytes(file_.layout());
    return {0, min - 1, min, min + 1000 * (4 * kWidth + 60), SharedScan::max_bytes(file_.layout())};
  }

  TempFolder folder_;
  FeatureFile file_{folder_ / "rows", 0, kRows, kWidth};
  std::vector<float> values_ = std::vector<float>(kRows * kWidth);
};

TEST_F(ScannedRowsTest, GivesTheRowsOfTheFileForEverySize) {
  ScannedRows rows(file_);
  for (const int64_t bytes : sizes()) {
    rows.resize(bytes);
    std::mt19937 random(5);
    std::deque<Rows> planned;
    for (int i = 0; i < 300; ++i) {
      const Rows batch = random_rows(random, 400);
      if (rows.plan(batch))
        planned.push_back(batch);
      else
        ASSERT_EQ(read(rows, batch), expected(batch)) << bytes;
      if (planned.size() < 3 && random() % 2 == 0) continue;
      if (planned.empty()) continue;
      if (random() % 4 == 0)
        rows.drop(planned.front());
      else
        ASSERT_EQ(take(rows, planned.front()), expected(planned.front())) << bytes;
      planned.pop_front();
    }
    for (const Rows& batch : planned) rows.drop(batch);
  }
}

TEST_F(ScannedRowsTest, ManyThreadsReadAtOnce) {
  for (const int64_t bytes : sizes()) {
    ScannedRows rows(file_);
    rows.resize(bytes);
    std::vector<std::jthread> threads;
    for (uint32_t thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        std::mt19937 random(thread);
        for (int i = 0; i < 50; ++i) {
          const Rows batch = random_rows(random, 400);
          EXPECT_EQ(read(rows, batch), expected(batch)) << bytes;
        }
      });
  }
}

TEST_F(ScannedRowsTest, WithRoomForAllEachRowIsReadOnce) {
  ScannedRows rows(file_);
  rows.resize(rows.max_bytes());
  Rows all(kRows);
  std::iota(all.begin(), all.end(), 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(read(rows, all), expected(all));
  EXPECT_EQ(rows.counters().misses, kRows);
  EXPECT_EQ(rows.counters().hits, 2 * kRows);
  EXPECT_EQ(rows.counters().bytes_useful, kRows * kWidth * 4);
}

TEST_F(ScannedRowsTest, AnErrorEndsTheBatch) {
  ScannedRows rows(file_);
  rows.resize(sizes()[3]);
  std::filesystem::resize_file(file_.path, 2000);
  Rows many(1000);
  for (int64_t i = 1; i < 4; ++i) {
    std::iota(many.begin(), many.end(), 1000 * i);
    ASSERT_TRUE(rows.plan(many)) << "there is room again";
    EXPECT_THAT(error_text<InputError>([&] { take(rows, many); }), HasSubstr("rows"));
  }
  rows.resize(0);
  EXPECT_THAT(error_text<InputError>([&] { read(rows, many); }), HasSubstr("rows"));
}

TEST_F(ScannedRowsTest, LedgerHoldsItsBytesAndGetsThemBack) {
  Ledger& ledger = Ledger::process();
  ScannedRows rows(file_);
  const int64_t before = ledger.held(Tag::cache);
  for (const int64_t bytes : sizes()) {
    rows.resize(bytes);
    EXPECT_LE(ledger.held(Tag::cache), before + bytes);
  }
  EXPECT_GT(ledger.held(Tag::cache), before);
  rows.resize(0);
  EXPECT_EQ(ledger.held(Tag::cache), before);
}

}  // namespace
}  // namespace plimsoll
