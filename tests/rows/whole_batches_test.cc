#include "rows/whole_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
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

constexpr int64_t kRows = 20'000;
constexpr int64_t kWidth = 50;  // Chosen so that rows cross buffers and sectors.
constexpr int64_t kRowBytes = kWidth * 4;
constexpr size_t kMaxRows = 2'000;  // Maximum rows of a batch.
constexpr int64_t kScratch = 16 << 20;

class WholeBatchesTest : public testing::Test {
 protected:
  WholeBatchesTest() {
    std::mt19937 random(3);
    bytes_.resize(static_cast<size_t>(kRows * kRowBytes));
    for (char& byte : bytes_) byte = static_cast<char>(random());
    write_bytes(file_.path, bytes_);
    for (uint8_t& uses : uses_) uses = static_cast<uint8_t>(random() % 4);
  }
  void SetUp() override {
    if (!ScratchFile::make(folder_.path(), kScratch)) GTEST_SKIP() << "temporary files lie in memory";
  }

  // Options that keep at least `kept` rows in memory.
  WholeBatches::Options options(int64_t kept) const {
    WholeBatches::Options options{.bytes = 0, .scratch_bytes = kScratch, .max_rows = kMaxRows};
    while (WholeBatches::kept_rows(file_.layout(), options) < kept) options.bytes += 4096;
    return options;
  }
  std::unique_ptr<WholeBatches> open(const WholeBatches::Options& options) const {
    return std::make_unique<WholeBatches>(file_, options,
                                          *ScratchFile::make(folder_.path(), options.scratch_bytes), uses_);
  }
  static std::vector<Rows> random_batches(size_t count) {
    std::mt19937 random(5);
    std::vector<Rows> batches(count);
    for (Rows& batch : batches) {
      batch.resize(random() % kMaxRows + 1);
      for (int64_t& row : batch) row = static_cast<int64_t>(random() % kRows);
      std::ranges::sort(batch);
      batch.erase(std::ranges::unique(batch).begin(), batch.end());
      std::ranges::shuffle(batch, random);
    }
    return batches;
  }
  std::string expected(const Rows& rows) const {
    std::string out;
    for (const int64_t row : rows) out.append(bytes_, static_cast<size_t>(row * kRowBytes), kRowBytes);
    return out;
  }
  // Makes rounds of these batches until all are written or the test stops it.
  static void make(WholeBatches& store, const std::vector<Rows>& batches, const std::stop_token& stop = {}) {
    for (size_t b = 0; b < batches.size();) {
      if (!store.begin_round(stop)) return;
      const size_t first = b;
      while (b < batches.size() && store.add(batches[b], {})) ++b;
      ASSERT_GT(b, first);
      ASSERT_TRUE(store.write(stop) || stop.stop_requested());
    }
  }
  // Reads a batch and returns its rows as text, or "gone" if read() returned false.
  static std::string read(WholeBatches& store, const std::vector<Rows>& batches, size_t batch,
                          int64_t generation = 0) {
    std::string out(batches[batch].size() * kRowBytes, 'x');
    const bool found = store.read(generation, static_cast<int64_t>(batch), [&](std::span<const std::byte>) {
      return PackedBatches::Place{batches[batch], reinterpret_cast<std::byte*>(out.data())};
    });
    return found ? out : "gone";
  }

  TempFolder folder_;
  FeatureFile file_{.path = folder_ / "rows", .rows = kRows, .width = kWidth};
  std::string bytes_;
  std::vector<uint8_t> uses_ = std::vector<uint8_t>(kRows);
};

TEST_F(WholeBatchesTest, BatchesAreTheirRows) {
  const std::vector<Rows> batches = random_batches(150);
  for (const int64_t kept : {int64_t{0}, int64_t{3000}, kRows}) {
    const auto store = open(options(kept));
    std::jthread maker([&](const std::stop_token& stop) { make(*store, batches, stop); });
    for (size_t b = 0; b < batches.size(); ++b)
      ASSERT_EQ(read(*store, batches, b), expected(batches[b])) << "batch " << b << ", " << kept;
  }
}

TEST_F(WholeBatchesTest, NarrowRowsAreWidened) {
  file_.values = {.type = NumberType::i8, .width = kWidth};
  const std::vector<Rows> batches = random_batches(20);
  const auto store = open(options(100));
  std::jthread maker([&](const std::stop_token& stop) { make(*store, batches, stop); });
  for (size_t b = 0; b < batches.size(); ++b) {
    const std::string found = read(*store, batches, b);
    for (size_t i = 0; i < batches[b].size() * kWidth; i += 101) {
      float value = 0;
      std::memcpy(&value, found.data() + i * sizeof(float), sizeof(value));
      const auto at = static_cast<size_t>(batches[b][i / kWidth]) * kWidth + i % kWidth;
      ASSERT_EQ(value, static_cast<float>(static_cast<int8_t>(bytes_[at])));
    }
  }
}

TEST_F(WholeBatchesTest, RowsMayBeWiderThanABufferForReading) {
  constexpr int64_t kWide = 300'000;  // Numbers in a row, which is then longer than 1 MiB.
  constexpr int64_t kFew = 12;
  std::vector<float> numbers(static_cast<size_t>(kFew * kWide));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 9973);
  const FeatureFile wide{folder_ / "wide", 0, kFew, kWide};
  write_bytes(wide.path, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
  WholeBatches::Options options{.bytes = 0, .scratch_bytes = 64 << 20, .max_rows = 3};
  while (WholeBatches::kept_rows(wide.layout(), options) < 0) options.bytes += 4096;
  const std::vector<uint8_t> uses(kFew, 1);
  WholeBatches store(wide, options, *ScratchFile::make(folder_.path(), options.scratch_bytes), uses);
  const std::vector<Rows> batches = {{0, 5, 11}, {7, 2}};
  make(store, batches);
  for (size_t b = 0; b < batches.size(); ++b) {
    std::vector<float> out(batches[b].size() * kWide);
    ASSERT_TRUE(store.read(0, static_cast<int64_t>(b), [&](std::span<const std::byte>) {
      return PackedBatches::Place{batches[b], reinterpret_cast<std::byte*>(out.data())};
    }));
    for (size_t i = 0; i < batches[b].size(); ++i)
      EXPECT_TRUE(std::equal(out.begin() + static_cast<int64_t>(i) * kWide,
                             out.begin() + static_cast<int64_t>(i + 1) * kWide,
                             numbers.begin() + batches[b][i] * kWide));
  }
}

TEST_F(WholeBatchesTest, ManyThreadsReadAtOnce) {
  const std::vector<Rows> batches = random_batches(200);
  const auto store = open(options(200));
  std::jthread maker([&](const std::stop_token& stop) { make(*store, batches, stop); });
  std::atomic<size_t> next = 0;
  std::atomic<int> wrong = 0, gone = 0;
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 8; ++i)
      readers.emplace_back([&] {
        for (size_t b = next++; b < batches.size(); b = next++) {
          const std::string found = read(*store, batches, b);
          gone += found == "gone";  // Another thread was far ahead.
          wrong += found != "gone" && found != expected(batches[b]);
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(gone, 20);
}

TEST_F(WholeBatchesTest, BatchesThatNobodyReadsDoNotStopIt) {
  const std::vector<Rows> batches = random_batches(300);
  const auto store = open(options(100));
  std::jthread maker([&](const std::stop_token& stop) { make(*store, batches, stop); });
  for (size_t b = 0; b < batches.size(); b += b % 7 == 0 ? 90 : 1)
    ASSERT_EQ(read(*store, batches, b), expected(batches[b]));
  EXPECT_EQ(read(*store, batches, 3), "gone");
  EXPECT_EQ(read(*store, batches, 299), expected(batches[299]));
}

TEST_F(WholeBatchesTest, WhatIsForgottenBeginsAnew) {
  const std::vector<Rows> batches = random_batches(12);
  const auto store = open(options(100));
  make(*store, {batches.begin(), batches.begin() + 4});
  EXPECT_EQ(read(*store, batches, 1), expected(batches[1]));
  store->forget(1);
  const std::vector<Rows> others(batches.begin() + 5, batches.begin() + 9);
  make(*store, others);
  EXPECT_EQ(read(*store, others, 0, 1), expected(others[0]));
  EXPECT_EQ(read(*store, batches, 2), "gone") << "its number is that of another batch by now";
}

// The file is read in long pieces, once per round; then each batch reads its own bytes.
TEST_F(WholeBatchesTest, BytesAreThoseOfTheRowsAndOfOnePassARound) {
  const std::vector<Rows> batches = random_batches(12);
  const auto store = open(options(0));
  ASSERT_TRUE(store->begin_round({}));
  size_t added = 0;
  while (added < batches.size() && store->add(batches[added], {})) ++added;
  ASSERT_TRUE(store->write({}));
  for (size_t b = 0; b < added; ++b) ASSERT_EQ(read(*store, batches, b), expected(batches[b]));
  const RowCounters counters = store->counters();
  const int64_t ranges = 64;  // Maximum number of ranges.
  const int64_t padding = static_cast<int64_t>(added) * (ranges + 1) * ScratchFile::kAlignment;
  const int64_t lists = counters.bytes_useful / kRowBytes * 4;
  EXPECT_LE(counters.bytes_written, counters.bytes_useful + lists + padding);
  EXPECT_LE(counters.bytes_read, kRows * kRowBytes * 11 / 10 + counters.bytes_useful + lists + 2 * padding);
}

TEST_F(WholeBatchesTest, AllOfItIsInTheLedger) {
  const int64_t before = Ledger::process().held(Tag::cache);
  for (const int64_t kept : {int64_t{0}, int64_t{5000}}) {
    const WholeBatches::Options limits = options(kept);
    const auto store = open(limits);
    make(*store, random_batches(3));
    EXPECT_LE(Ledger::process().held(Tag::cache) - before, limits.bytes);
    EXPECT_GE(Ledger::process().held(Tag::cache) - before, limits.bytes / 2);
  }
  EXPECT_EQ(Ledger::process().held(Tag::cache), before);
}

TEST_F(WholeBatchesTest, ErrorsNameWhatCannotBeRead) {
  const std::vector<Rows> batches = random_batches(3);
  const auto store = open(options(0));
  std::filesystem::resize_file(file_.path, 1000);
  ASSERT_TRUE(store->begin_round({}));
  ASSERT_TRUE(store->add(batches[0], {}));
  try {
    store->write({});
    FAIL() << "rows of a file that was cut short were packed";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(file_.path.string()));
    store->fail(std::current_exception());
  }
  EXPECT_THAT(error_text<InputError>([&] { read(*store, batches, 0); }), HasSubstr(file_.path.string()));
}

}  // namespace
}  // namespace plimsoll
