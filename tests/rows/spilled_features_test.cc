#include "rows/spilled_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
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

constexpr int64_t kRows = 3000;
constexpr int64_t kRowBytes = 200;  // Chosen so that rows cross buffers and sectors.
constexpr size_t kMaxRows = 120;    // Maximum rows of a batch.

class SpilledFeaturesTest : public testing::Test {
 protected:
  SpilledFeaturesTest() {
    std::mt19937 random(3);
    bytes_.resize(static_cast<size_t>(kRows * kRowBytes));
    for (char& byte : bytes_) byte = static_cast<char>(random());
    write_bytes(file_, bytes_);
    for (uint8_t& uses : uses_) uses = static_cast<uint8_t>(random() % 4);
  }

  void SetUp() override {
    if (!ScratchFile::make(folder_.path(), 1 << 20)) GTEST_SKIP() << "temporary files lie in memory";
  }

  // Options that keep `kept` rows in memory and have space for some packs in each round.
  SpilledFeatures::Options options(int64_t kept) const {
    SpilledFeatures::Options options{
        .bytes = 0, .scratch_bytes = 1 << 20, .max_rows = kMaxRows, .max_note = 64};
    while (SpilledFeatures::kept_rows(layout_, options) < kept) options.bytes += 4096;
    return options;
  }
  SpilledFeatures open(const SpilledFeatures::Options& options) const {
    return {file_, layout_, options, *ScratchFile::make(folder_.path(), options.scratch_bytes), uses_};
  }
  static std::vector<Rows> random_batches(size_t count) {
    std::mt19937 random(5);
    std::vector<Rows> batches(count);
    for (Rows& batch : batches) {
      batch.resize(random() % kMaxRows + 1);
      for (int64_t& row : batch) {
        const int64_t rows = random() % 2 != 0 ? kRows : kRows / 8;
        row = static_cast<int64_t>(random()) % rows;
      }
      std::ranges::sort(batch);
      batch.erase(std::ranges::unique(batch).begin(), batch.end());
      std::ranges::shuffle(batch, random);
    }
    return batches;
  }
  static std::string note_of(size_t batch) { return "batch " + std::to_string(batch); }
  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
  std::string expected(const Rows& rows) const {
    std::string out;
    for (const int64_t row : rows) out.append(bytes_, static_cast<size_t>(row * kRowBytes), kRowBytes);
    return out;
  }

  // Makes rounds of these batches until all are written or the test stops it.
  static void make(SpilledFeatures& packs, const std::vector<Rows>& batches,
                   const std::stop_token& stop = {}) {
    for (size_t b = 0; b < batches.size();) {
      const bool started = packs.begin_round(stop);
      ASSERT_TRUE(started || stop.stop_requested());
      if (!started) return;
      const size_t first = b;
      while (b < batches.size() && packs.add(batches[b], bytes_of(note_of(b)))) ++b;
      ASSERT_GT(b, first);
      ASSERT_TRUE(packs.write(stop) || stop.stop_requested());
    }
  }
  // Reads a batch and returns its note and rows as text, or "gone" if read() returned false.
  static std::string read(SpilledFeatures& packs, const std::vector<Rows>& batches, size_t batch,
                          int64_t generation = 0) {
    std::string out;
    const bool found =
        packs.read(generation, static_cast<int64_t>(batch), [&](std::span<const std::byte> note) {
          out.assign(reinterpret_cast<const char*>(note.data()), note.size());
          const size_t begin = out.size();
          out.resize(begin + batches[batch].size() * kRowBytes);
          return SpilledFeatures::Place{batches[batch], reinterpret_cast<std::byte*>(out.data()) + begin};
        });
    return found ? out : "gone";
  }

  TempFolder folder_;
  std::filesystem::path file_ = folder_ / "rows";
  RowLayout layout_{0, kRowBytes, kRows};
  std::string bytes_;
  std::vector<uint8_t> uses_ = std::vector<uint8_t>(kRows);
};

TEST_F(SpilledFeaturesTest, BatchesAreTheirNotesAndRows) {
  const std::vector<Rows> batches = random_batches(400);
  for (const int64_t kept : {int64_t{0}, int64_t{300}, kRows}) {
    SpilledFeatures packs = open(options(kept));
    std::jthread maker([&](const std::stop_token& stop) { make(packs, batches, stop); });
    for (size_t b = 0; b < batches.size(); ++b)
      ASSERT_EQ(read(packs, batches, b), note_of(b) + expected(batches[b])) << "batch " << b << ", " << kept;
  }
}

TEST_F(SpilledFeaturesTest, ManyThreadsReadAtOnce) {
  const std::vector<Rows> batches = random_batches(600);
  SpilledFeatures packs = open(options(200));
  std::jthread maker([&](const std::stop_token& stop) { make(packs, batches, stop); });
  std::atomic<size_t> next = 0;
  std::atomic<int> wrong = 0, gone = 0;
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 12; ++i)
      readers.emplace_back([&] {
        for (size_t b = next++; b < batches.size(); b = next++) {
          const std::string found = read(packs, batches, b);
          gone += found == "gone";  // Another thread was far ahead.
          wrong += found != "gone" && found != note_of(b) + expected(batches[b]);
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(gone, 60);
}

TEST_F(SpilledFeaturesTest, BatchesThatNobodyReadsDoNotStopIt) {
  const std::vector<Rows> batches = random_batches(600);
  SpilledFeatures packs = open(options(100));
  std::jthread maker([&](const std::stop_token& stop) { make(packs, batches, stop); });
  for (size_t b = 0; b < batches.size(); b += b % 7 == 0 ? 90 : 1)
    ASSERT_EQ(read(packs, batches, b), note_of(b) + expected(batches[b]));
  EXPECT_EQ(read(packs, batches, 3), "gone");
  EXPECT_EQ(read(packs, batches, 599), note_of(599) + expected(batches[599]));
}

TEST_F(SpilledFeaturesTest, WhatIsForgottenBeginsAnew) {
  const std::vector<Rows> batches = random_batches(40);
  SpilledFeatures packs = open(options(100));
  make(packs, {batches.begin(), batches.begin() + 10});
  EXPECT_EQ(read(packs, batches, 4), note_of(4) + expected(batches[4]));
  packs.forget(1);
  const std::vector<Rows> others(batches.begin() + 20, batches.end());
  make(packs, others);
  EXPECT_EQ(read(packs, others, 0, 1), note_of(0) + expected(others[0]));
  EXPECT_EQ(read(packs, batches, 5), "gone") << "its number is that of another batch by now";
}

TEST_F(SpilledFeaturesTest, AllOfItIsInTheLedger) {
  const int64_t before = Ledger::process().held(Tag::cache);
  for (const int64_t kept : {int64_t{0}, int64_t{1000}}) {
    const SpilledFeatures::Options limits = options(kept);
    SpilledFeatures packs = open(limits);
    make(packs, random_batches(5));
    EXPECT_LE(Ledger::process().held(Tag::cache) - before, limits.bytes);
    EXPECT_GE(Ledger::process().held(Tag::cache) - before, limits.bytes / 2);
  }
  EXPECT_EQ(Ledger::process().held(Tag::cache), before);
}

TEST_F(SpilledFeaturesTest, RowsThatAreUsedMostStay) {
  for (int64_t row = 0; row < kRows; ++row) uses_[static_cast<size_t>(row)] = row % 10 == 7 ? 200 : 0;
  SpilledFeatures packs = open(options(kRows / 10));
  Rows used;
  for (int64_t row = 7; row < 1000; row += 10) used.push_back(row);
  ASSERT_TRUE(packs.begin_round({}));
  ASSERT_TRUE(packs.add(used, {}));
  EXPECT_EQ(packs.counters().misses, 0);
  EXPECT_EQ(packs.counters().hits, std::ssize(used));
}

// Batches without rows occur if all rows are elsewhere. Without a limit a round would include all batches.
TEST_F(SpilledFeaturesTest, RoundsOfBatchesThatWantNothingEnd) {
  SpilledFeatures::Options limits = options(0);
  limits.max_note = 0;
  SpilledFeatures packs = open(limits);
  int64_t batch = 0;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(packs.begin_round({}));
    int64_t batches = 0;
    while (batches <= PackRound::kMaxBatches && packs.add({}, {})) ++batches;
    EXPECT_GT(batches, 0);
    EXPECT_LE(batches, PackRound::kMaxBatches);
    ASSERT_TRUE(packs.write({}));
    for (; batches > 0; --batches)
      EXPECT_TRUE(
          packs.read(0, batch++, [](std::span<const std::byte>) { return SpilledFeatures::Place{}; }));
  }
}

TEST_F(SpilledFeaturesTest, ErrorsNameWhatCannotBeRead) {
  const std::vector<Rows> batches = random_batches(20);
  SpilledFeatures packs = open(options(0));
  std::filesystem::resize_file(file_, 1000);
  ASSERT_TRUE(packs.begin_round({}));
  ASSERT_TRUE(packs.add(batches[0], {}));
  for (size_t b = 1; b < batches.size() && packs.add(batches[b], {});) ++b;
  try {
    packs.write({});
    FAIL() << "rows of a file that was cut short were packed";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(file_.string()));
    packs.fail(std::current_exception());
  }
  EXPECT_THAT(error_text<InputError>([&] { read(packs, batches, 0); }), HasSubstr(file_.string()));
}

TEST_F(SpilledFeaturesTest, AScratchFileThatIsCutShortIsAnError) {
  const std::vector<Rows> batches = random_batches(400);
  const SpilledFeatures::Options limits = options(0);
  ScratchFile scratch = *ScratchFile::make(folder_.path(), limits.scratch_bytes);
  const int file = scratch.descriptor();
  SpilledFeatures packs(file_, layout_, limits, std::move(scratch), uses_);
  size_t added = 0;
  // The first round is short: all its packs may have been read by now.
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(packs.begin_round({}));
    while (packs.add(batches[added], {})) ++added;
    ASSERT_TRUE(packs.write({}));
  }
  ASSERT_LT(added, batches.size());
  ASSERT_EQ(::ftruncate(file, 0), 0);
  const auto read_all = [&] {
    for (size_t b = 0; b < added; ++b) read(packs, batches, b);
  };
  EXPECT_THAT(error_text<Failure>(read_all), HasSubstr("cannot read"));
}

TEST_F(SpilledFeaturesTest, TooLittleIsRefused) {
  EXPECT_LT(SpilledFeatures::kept_rows(layout_, {100'000, 1 << 20, kMaxRows, 64}), 0);
  EXPECT_LT(SpilledFeatures::kept_rows(layout_, {100'000'000, 10'000, kMaxRows, 64}), 0)
      << "no room on the disk";
  SpilledFeatures::Options few = options(0);
  few.bytes /= 2;
  EXPECT_THAT(error_text<UsageError>([&] { open(few); }), HasSubstr("are too few"));
  SpilledFeatures packs = open(options(0));
  ASSERT_TRUE(packs.begin_round({}));
  Rows all(kRows);
  for (int64_t row = 0; row < kRows; ++row) all[static_cast<size_t>(row)] = row;
  EXPECT_THAT(error_text<Failure>([&] { packs.add(all, {}); }),
              HasSubstr("larger than the announced maximum"));
}

}  // namespace
}  // namespace plimsoll
