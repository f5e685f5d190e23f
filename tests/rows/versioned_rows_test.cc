#include "rows/versioned_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <random>
#include <vector>

#include "base/error.h"
#include "memory/ledger.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr VersionedSizes kTable{.rows = 50, .width = 3, .moments = 2};

class VersionedRowsTest : public testing::Test {
 protected:
  static VersionedRows table() {
    return {kTable,
            [](int64_t row, std::span<float> to) { std::ranges::fill(to, -static_cast<float>(row)); }};
  }
  fs::path path() const { return folder_ / "rows"; }

  TempFolder folder_;
};

// A row as [weights | moments].
using Row = std::array<float, 9>;

Row row_of(const VersionedRows& rows, int64_t row) {
  Row found;
  rows.read(row, std::span(found).first(3), std::span(found).subspan(3));
  return found;
}

void write(VersionedRows& rows, int64_t row, const Row& numbers) {
  rows.write(row, std::span(numbers).first(3), std::span(numbers).subspan(3));
}

Row numbered(float first) {
  Row row;
  for (size_t i = 0; i < row.size(); ++i) row[i] = first + static_cast<float>(i);
  return row;
}

TEST_F(VersionedRowsTest, ARowThatWasNotWrittenIsTheInitialOne) {
  VersionedRows rows = table();
  rows.create(path());
  EXPECT_THAT(row_of(rows, 7), testing::ElementsAre(-7, -7, -7, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(static_cast<int64_t>(fs::file_size(path())), VersionedRows::file_bytes(kTable));
}

// Writes, commits, keeps and restores at random, next to a model in memory. Opening the file with the places
// of the last commit must give what the commit had, whatever was written since.
TEST_F(VersionedRowsTest, WhatWasCommittedStaysWhateverIsWritten) {
  struct Table {
    std::vector<Row> now, best;
  };
  std::mt19937 random(5);
  VersionedRows rows = table();
  rows.create(path());
  Table current, committed;
  for (int64_t row = 0; row < kTable.rows; ++row) current.now.push_back(row_of(rows, row));
  current.best = committed.now = committed.best = current.now;
  std::vector<std::byte> places(rows.places().begin(), rows.places().end());
  for (int round = 0; round < 200; ++round) {
    for (uint32_t writes = random() % 40; writes > 0; --writes) {
      const auto row = static_cast<int64_t>(random() % kTable.rows);
      current.now[static_cast<size_t>(row)] = numbered(static_cast<float>(random() % 1000));
      write(rows, row, current.now[static_cast<size_t>(row)]);
    }
    VersionedRows killed = table();
    killed.open(path(), places);
    for (int64_t row = 0; row < kTable.rows; ++row)
      ASSERT_EQ(row_of(killed, row), committed.now[static_cast<size_t>(row)]) << round;
    killed.restore_best();
    for (int64_t row = 0; row < kTable.rows; ++row) {
      const Row found = row_of(killed, row);
      ASSERT_TRUE(
          std::equal(found.begin(), found.begin() + 3, committed.best[static_cast<size_t>(row)].begin()))
          << round;
    }
    if (random() % 3 == 0) {
      rows.keep_best();
      current.best = current.now;
    } else if (random() % 2 == 0) {
      continue;  // No commit.
    }
    rows.sync();
    places.assign(rows.places().begin(), rows.places().end());
    rows.commit();
    committed = current;
  }
}

TEST_F(VersionedRowsTest, AllRowsAreReadInOrder) {
  VersionedRows rows = table();
  rows.create(path());
  write(rows, 4, numbered(100));
  write(rows, 4, numbered(200));
  std::vector<float> all;
  rows.read_all(
      [&](std::span<const float> weights) { all.insert(all.end(), weights.begin(), weights.end()); });
  ASSERT_EQ(all.size(), 150U);
  EXPECT_THAT(std::span(all).subspan(12, 6), testing::ElementsAre(200, 201, 202, -5, -5, -5));
}

TEST_F(VersionedRowsTest, ChangedAndMissingFilesAreRefused) {
  VersionedRows rows = table();
  EXPECT_THAT([&] { rows.open(path(), rows.places()); },
              testing::ThrowsMessage<Failure>(testing::HasSubstr("of this run is missing")));
  rows.create(path());
  EXPECT_THAT([&] { table().open(path(), rows.places().first(9)); },
              testing::ThrowsMessage<Failure>(testing::HasSubstr("has 9 rows, expected 50")));
  fs::resize_file(path(), 100);
  EXPECT_THAT([&] { table().open(path(), rows.places()); },
              testing::ThrowsMessage<Failure>(testing::HasSubstr("found 100 bytes, expected 9296 to 9896")));
  std::fstream(path(), std::ios::in | std::ios::out) << "floats of an older version";
  EXPECT_THAT([&] { table().open(path(), rows.places()); },
              testing::ThrowsMessage<Failure>(
                  testing::HasSubstr("starts with 'floats of an older version 50 rows of 3 numbers, 2 "
                                     "moments\\x0a', expected 'plimsoll embedding.rows 2: 50 rows of 3 "
                                     "numbers, 2 moments\\x0a'")));
}

// Writes a row, changes the file, and expects each way to read the row to name it.
class DamagedRowsTest : public VersionedRowsTest {
 protected:
  static constexpr int64_t kRow = 4, kHeader = 4096, kRecord = 4 * (3 * 4 + 2 * 7);

  void SetUp() override {
    rows_.create(path());
    write(rows_, kRow, numbered(100));
    write(rows_, kRow + 1, numbered(200));
  }
  // Changes a byte of the row's record.
  void change(int64_t byte) {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(kHeader + kRow * kRecord + byte);
    const int was = file.get();
    file.seekp(kHeader + kRow * kRecord + byte);
    file.put(static_cast<char>(was ^ 1));
  }
  template <typename Read>
  void expect_damage(const Read& read) const {
    EXPECT_THAT(read,
                testing::ThrowsMessage<InputError>(testing::AllOf(
                    testing::HasSubstr(path().string() + ": row 4 of the table"),
                    testing::HasSubstr("found numbers with the checksum"), testing::HasSubstr("--force"))));
  }
  void read_many() const {
    const std::vector<uint32_t> rows = {2, 4, 5};
    rows_.read(rows, [](size_t, std::span<const float>, std::span<const float>) {});
  }
  void read_all() {
    rows_.read_all([](std::span<const float>) {});
  }

  VersionedRows rows_ = table();
};

TEST_F(DamagedRowsTest, AFlippedBitOfWeightsIsNoticed) {
  change(5);
  expect_damage([&] { row_of(rows_, kRow); });
  expect_damage([&] { read_many(); });
  expect_damage([&] { read_all(); });
  EXPECT_EQ(row_of(rows_, kRow + 1), numbered(200));
}

TEST_F(DamagedRowsTest, AFlippedBitOfMomentsOrOfAChecksumIsNoticed) {
  const int64_t second_moments = 4 * (3 * 4 + 7);  // The first write goes to the place that no commit has.
  change(second_moments + 9);
  expect_damage([&] { row_of(rows_, kRow); });
  expect_damage([&] { read_many(); });
  change(second_moments + 9);
  EXPECT_EQ(row_of(rows_, kRow), numbered(100));
  change(4 * 3);
  expect_damage([&] { row_of(rows_, kRow); });
}

TEST_F(DamagedRowsTest, AHoleAndTheNumbersOfAnotherRowAreNoticed) {
  std::string record(kRecord, '\0');
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kHeader + kRow * kRecord);
  file.write(record.data(), kRecord).flush();
  expect_damage([&] { row_of(rows_, kRow); });
  file.seekg(kHeader + (kRow + 1) * kRecord);
  file.read(record.data(), kRecord);
  file.seekp(kHeader + kRow * kRecord);
  file.write(record.data(), kRecord).flush();
  expect_damage([&] { row_of(rows_, kRow); });
}

TEST_F(VersionedRowsTest, ManyRowsAreReadAsOneByOne) {
  constexpr VersionedSizes kWide{.rows = 2000, .width = 64, .moments = 2};
  VersionedRows rows(
      kWide, [](int64_t row, std::span<float> to) { std::ranges::fill(to, -static_cast<float>(row)); });
  rows.create(path());
  std::mt19937 random(3);
  std::vector<float> numbers(3 * 64);
  for (int i = 0; i < 3000; ++i) {
    for (float& number : numbers) number = static_cast<float>(random() % 1000);
    rows.write(static_cast<int64_t>(random() % 2000), std::span(numbers).first(64),
               std::span(numbers).subspan(64));
    if (i == 1000) rows.commit();
  }
  std::vector<uint32_t> chosen;
  for (uint32_t row = 0; row < 2000; row += 1 + random() % 4) chosen.push_back(row);
  size_t next = 0;
  const auto compare = [&](size_t i, std::span<const float> weights, std::span<const float> moments) {
    ASSERT_EQ(i, next++);
    rows.read(chosen[i], std::span(numbers).first(64), std::span(numbers).subspan(64));
    ASSERT_TRUE(std::ranges::equal(weights, std::span(numbers).first(64))) << chosen[i];
    ASSERT_TRUE(std::ranges::equal(moments, std::span(numbers).subspan(64))) << chosen[i];
  };
  VersionedRows again(
      kWide, [](int64_t row, std::span<float> to) { std::ranges::fill(to, -static_cast<float>(row)); });
  again.open(path(), rows.places());
  again.read(chosen, compare);
  EXPECT_EQ(next, chosen.size());
}

TEST_F(VersionedRowsTest, TheReserveIsAllocatedAndFreed) {
  VersionedRows rows = table();
  rows.create(path());
  write(rows, 3, numbered(1));
  rows.free_reserve();
  EXPECT_EQ(static_cast<int64_t>(fs::file_size(path())),
            VersionedRows::file_bytes(kTable) - VersionedRows::export_bytes(kTable));
  VersionedRows again = table();
  again.open(path(), rows.places());
  EXPECT_EQ(static_cast<int64_t>(fs::file_size(path())), VersionedRows::file_bytes(kTable));
  EXPECT_EQ(row_of(again, 3), numbered(1));
}

TEST_F(VersionedRowsTest, NothingIsAllocatedAfterTheConstructor) {
  Ledger& ledger = Ledger::process();
  VersionedRows rows = table();
  EXPECT_GE(ledger.held(), kTable.rows);
  ledger.set_cap(ledger.held());
  rows.create(path());
  write(rows, 3, numbered(1));
  rows.keep_best();
  rows.sync();
  rows.commit();
  rows.read_all([](std::span<const float>) {});
  ledger.set_cap(Ledger::kUnlimited);
}

}  // namespace
}  // namespace plimsoll
