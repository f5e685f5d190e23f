#include "io/external_sort.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/philox.h"
#include "io/file.h"
#include "support/errors.h"
#include "support/faulty_files.h"
#include "support/memory_files.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

struct Record {
  uint64_t key = 0;
  uint32_t number = 0;  // Position in the order of adding.
  bool operator==(const Record&) const = default;
};

// Makes keys with repetitions; `bits` masks the bits that are used.
std::vector<Record> made_up(size_t count, uint64_t bits) {
  std::vector<Record> records(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto draw = Philox(5)({i, 0, 0, 0});
    records[i] = {(uint64_t{draw[0]} << 32 | draw[1]) & bits, i};
  }
  return records;
}

std::vector<Record> sorted(std::vector<Record> records, bool unique) {
  std::stable_sort(records.begin(), records.end(),
                   [](const Record& a, const Record& b) { return a.key < b.key; });
  const auto same = [](const Record& a, const Record& b) { return a.key == b.key; };
  if (unique) records.erase(std::unique(records.begin(), records.end(), same), records.end());
  return records;
}

class ExternalSortTest : public testing::Test {
 protected:
  ExternalSort::Options options(int64_t memory, bool unique = false) const {
    return {.folder = folder_.path(),
            .name = "test",
            .payload = sizeof(uint32_t),
            .memory = memory,
            .unique = unique};
  }
  static void fill(ExternalSort& sort, const std::vector<Record>& records) {
    for (const Record& record : records) sort.add(record.key, &record.number);
    sort.seal();
  }
  static std::vector<Record> read(const ExternalSort& sort) {
    std::vector<Record> records;
    for (ExternalSort::Reader reader = sort.read(); reader.next();) {
      records.push_back({reader.key(), 0});
      std::memcpy(&records.back().number, reader.payload(), sizeof(uint32_t));
    }
    return records;
  }
  size_t names() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }
  TempFolder folder_;
};

// Writes a run to a file, after `begin` other bytes.
std::filesystem::path write_run(const ExternalSort& sort, const std::filesystem::path& path, size_t begin) {
  std::ofstream file(path, std::ios::binary);
  file << std::string(begin, 'x');
  sort.write_run([&](std::span<const std::byte> piece) {
    file.write(reinterpret_cast<const char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
  });
  return path;
}

TEST_F(ExternalSortTest, RunsOfOthersAreMergedInTheirOrder) {
  constexpr size_t kBegin = 70'000;  // More than a buffer.
  const std::filesystem::path others = folder_ / "others";
  std::filesystem::create_directory(others);
  for (const uint64_t bits : {~uint64_t{0}, uint64_t{0x7F}}) {
    const std::vector<Record> records = made_up(20'000, bits);
    std::vector<std::filesystem::path> paths;
    for (size_t part = 0; part < 4; ++part) {
      const auto begin = records.begin() + static_cast<std::ptrdiff_t>(part * 5'000);
      std::vector<std::filesystem::path> of_memory;
      for (const int64_t memory : {int64_t{64} << 20, int64_t{0}}) {
        ExternalSort sort(options(memory));
        fill(sort, {begin, begin + 5'000});
        of_memory.push_back(write_run(sort, others / std::to_string(part * 2 + of_memory.size()), kBegin));
      }
      EXPECT_EQ(read_text(of_memory[0]), read_text(of_memory[1]));
      paths.push_back(of_memory[0]);
    }
    // With 0, runs are merged to fewer first.
    for (const int64_t memory : {int64_t{64} << 20, int64_t{0}}) {
      ExternalSort sort(options(memory));
      for (size_t part = 0; part < 4; ++part) {
        if (part == 2) {  // Records added directly keep their place between the runs.
          for (size_t i = 10'000; i < 15'000; ++i) sort.add(records[i].key, &records[i].number);
          continue;
        }
        sort.take_run(paths[part], kBegin);
      }
      sort.seal();
      EXPECT_EQ(read(sort), sorted(records, false)) << memory;
      sort.remove();
      EXPECT_EQ(names(), 1U);
    }
    for (const auto& path : paths) EXPECT_TRUE(std::filesystem::exists(path));
  }
}

TEST_F(ExternalSortTest, ARunThatIsCutOffIsRefused) {
  const std::filesystem::path others = folder_ / "others";
  std::filesystem::create_directory(others);
  ExternalSort sort(options(1 << 20));
  fill(sort, made_up(100, ~uint64_t{0}));
  const std::filesystem::path path = write_run(sort, others / "run", 10);
  const auto bytes = std::filesystem::file_size(path);
  for (const uintmax_t left : {bytes - 1, bytes - 4, bytes - 5, uintmax_t{5}}) {
    std::filesystem::resize_file(path, left);
    EXPECT_THAT(error_text<InputError>([&] {
                  ExternalSort cut(options(1 << 20));
                  cut.take_run(path, 10);
                  cut.seal();
                  read(cut);
                }),
                testing::HasSubstr("ends inside a record"));
  }
}

TEST_F(ExternalSortTest, WhatComesOutDoesNotDependOnTheMemory) {
  // All bits; pairs of small numbers; few keys, so that most are repeated.
  for (const uint64_t bits : {~uint64_t{0}, uint64_t{0x3FF000003FF}, uint64_t{0x7F}})
    for (const bool unique : {false, true}) {
      const std::vector<Record> records = made_up(20'000, bits);
      const std::vector<Record> expected = sorted(records, unique);
      for (const int64_t memory : {int64_t{64} << 20, int64_t{400'000}, int64_t{0}}) {
        ExternalSort sort(options(memory, unique));
        fill(sort, records);
        EXPECT_EQ(read(sort), expected) << memory;
        EXPECT_EQ(read(sort), expected) << "read again";
        EXPECT_EQ(names() == 0, memory == int64_t{64} << 20);
        sort.remove();
        EXPECT_EQ(names(), 0U);
      }
    }
}

TEST_F(ExternalSortTest, NothingAndOneRecordAreSorted) {
  for (const size_t count : {size_t{0}, size_t{1}}) {
    ExternalSort sort(options(1 << 20));
    const std::vector<Record> records = made_up(count, ~uint64_t{0});
    fill(sort, records);
    EXPECT_EQ(read(sort), records);
  }
}

TEST_F(ExternalSortTest, TakesNoMoreMemoryThanItMay) {
  constexpr int64_t kMemory = 1 << 20;
  const int64_t held = Ledger::process().held();
  Ledger::process().begin_recent();
  {
    ExternalSort sort(options(kMemory));
    fill(sort, made_up(200'000, ~uint64_t{0}));
    EXPECT_EQ(read(sort).size(), 200'000U);
  }
  EXPECT_LE(Ledger::process().recent_peak() - held, kMemory + (128 << 10));
  EXPECT_EQ(Ledger::process().held(), held);
  EXPECT_EQ(names(), 0U) << "the runs go with it";
}

// With 0 bytes, runs of 1,024 records are merged two at a time.
TEST_F(ExternalSortTest, EndsWhenItsTickThrows) {
  struct Stop {};
  int ticks = 0;
  ExternalSort::Options stopping = options(0);
  stopping.tick = [&] {
    if (++ticks == 2) throw Stop();
  };
  {
    ExternalSort sort(stopping);
    EXPECT_THROW(fill(sort, made_up(5000, ~uint64_t{0})), Stop);
  }
  EXPECT_EQ(names(), 0U) << "the runs go with it";
}

TEST_F(ExternalSortTest, EdgesTakeTheirBytesOnDisk) {
  // 100,000 edges of 2^16 nodes in one run use 32 bits per key, so a difference needs about 15.
  ExternalSort::Options plain = options(1 << 30);
  plain.payload = 0;
  plain.max = 50'000;
  ExternalSort sort(plain);
  for (const Record& record : made_up(100'000, 0xFFFF0000FFFF)) sort.add(record.key);
  sort.seal();
  uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) bytes += file.file_size();
  EXPECT_LT(bytes, 100'000U * 3);
}

TEST_F(ExternalSortTest, ADiskThatFailsIsAnErrorThatNamesIt) {
  for (int call = 0; call < 60; ++call) {
    MemoryFiles files;
    files.make_folder("/place");
    FaultyFiles faulty(files, {Fault::error, call, EIO});
    ExternalSort::Options in_memory = options(0);
    in_memory.folder = "/place";
    in_memory.files = &faulty;
    bool failed = false;
    try {
      ExternalSort sort(in_memory);
      fill(sort, made_up(12'000, ~uint64_t{0}));
      EXPECT_EQ(read(sort).size(), 12'000U);
      sort.remove();
    } catch (const Failure& failure) {
      failed = true;
      EXPECT_THAT(failure.what(), testing::HasSubstr("/place/test."));
    }
    EXPECT_EQ(failed, !faulty.struck().empty());
  }
}

}  // namespace
}  // namespace plimsoll
