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
              testing::ThrowsMessage<Failure>(testing::HasSubstr("found 100 bytes, expected 4200")));
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
