#include "io/row_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/errors.h"
#include "support/forbid_call.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace {

uint32_t reported_sector = 0;  // Sector size that devices report; 0 for the real one.

}  // namespace

// Replaces the C library's function.
extern "C" int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) {
  const auto result = static_cast<int>(::syscall(SYS_statx, folder, path, flags, mask, status));
#ifdef STATX_DIOALIGN
  if (result == 0 && reported_sector > 0 && (mask & STATX_DIOALIGN) != 0) {
    status->stx_mask |= STATX_DIOALIGN;
    status->stx_dio_mem_align = status->stx_dio_offset_align = reported_sector;
  }
#endif
  return result;
}

namespace plimsoll {
namespace {

using testing::HasSubstr;

constexpr ReadMethod kMethods[] = {ReadMethod::ring_direct, ReadMethod::pool_direct, ReadMethod::ring,
                                   ReadMethod::pool};

std::string random_bytes(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(static_cast<size_t>(count), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class RowReaderTest : public testing::TestWithParam<ReadMethod> {
 protected:
  // Returns what a reader gives for these rows, one after the other.
  static std::string read(RowReader& reader, const std::vector<int64_t>& rows) {
    const auto row_bytes = static_cast<size_t>(reader.layout().row_bytes);
    std::string out(rows.size() * row_bytes, '?');
    std::vector<WantedRow> wanted;
    for (size_t i = 0; i < rows.size(); ++i)
      wanted.push_back({rows[i], reinterpret_cast<std::byte*>(out.data() + i * row_bytes)});
    reader.read(wanted);
    return out;
  }
  static std::string expected(const std::string& file, const RowLayout& layout,
                              const std::vector<int64_t>& rows) {
    std::string out;
    for (const int64_t row : rows)
      out.append(file, static_cast<size_t>(layout.offset + row * layout.row_bytes),
                 static_cast<size_t>(layout.row_bytes));
    return out;
  }
  // Whether the method cannot be tested here: no io_uring, or a file system without O_DIRECT.
  bool refused() { return !open_method(file_, GetParam(), 4096, 4096); }

  // Whether the file can be read in sectors of `sector` bytes, and not only of more.
  bool reads_at(int64_t sector) {
    RowReader reader(file_, {sector, sector, 1}, {GetParam()});
    std::string out(static_cast<size_t>(sector), '?');
    WantedRow wanted{0, reinterpret_cast<std::byte*>(out.data())};
    try {
      reader.read({&wanted, 1});
    } catch (const Failure&) {
      return false;
    }
    return true;
  }

  TempFolder folder_;
  std::filesystem::path file_ = folder_ / "rows";
};

TEST_P(RowReaderTest, GivesTheBytesOfAPlainRead) {
  std::mt19937 random(7);
  for (const int64_t row_bytes : {4, 7, 64, 511, 512, 513, 1000, 4095, 4096, 4100, 20000}) {
    const RowLayout layout{row_bytes % 2 == 0 ? 4096 : 77, row_bytes, 300};
    const std::string bytes = random_bytes(layout.offset + layout.rows * row_bytes + row_bytes % 3, 1);
    write_bytes(file_, bytes);
    if (refused()) GTEST_SKIP() << method_name(GetParam()) << " is refused here";
    for (const int64_t buffers : {1, 16 * 1024, 1024 * 1024}) {
      RowReader reader(file_, layout, {GetParam(), buffers, 2048});
      for (const size_t count : {0, 1, 5, 150, 900}) {
        std::vector<int64_t> rows(count);
        for (int64_t& row : rows) row = static_cast<int64_t>(random() % 300);
        if (count == 5) rows.back() = 299;
        ASSERT_EQ(read(reader, rows), expected(bytes, layout, rows)) << row_bytes << " " << count;
      }
    }
  }
}

// With the sectors around them, such rows are long enough to be read in whole pages.
TEST_P(RowReaderTest, RowsNearFourPagesFitTheirBuffers) {
  constexpr int64_t kRows = 200;
  std::mt19937 random(11);
  for (const uint32_t sector : {512, 1024}) {
    for (const int64_t row_bytes : {15'372, 15'876, 16'000, 16'380}) {
      const RowLayout layout{4096, row_bytes, kRows};
      const std::string bytes = random_bytes(layout.offset + kRows * row_bytes, 12);
      write_bytes(file_, bytes);
      reported_sector = sector;
      const bool is_refused = refused() || !reads_at(sector);
      reported_sector = 0;
      if (is_refused)
        GTEST_SKIP() << method_name(GetParam()) << " in sectors of " << sector << " is refused here";
      for (const int64_t buffers : {1, 1024 * 1024}) {
        reported_sector = sector;
        RowReader reader(file_, layout, {GetParam(), buffers});
        reported_sector = 0;
        std::vector<int64_t> rows(kRows);
        std::iota(rows.begin(), rows.end(), 0);
        for (int round = 0; round < 4; ++round) {
          std::shuffle(rows.begin(), rows.end(), random);
          const std::vector<int64_t> some(rows.begin(), rows.begin() + kRows / 2);
          ASSERT_EQ(read(reader, some), expected(bytes, layout, some)) << row_bytes << " in " << sector;
        }
      }
    }
  }
}

TEST_P(RowReaderTest, ReadsARowOnceAndNeighboursTogether) {
  write_bytes(file_, random_bytes(4096 + 64 * 512, 2));
  if (refused()) GTEST_SKIP() << method_name(GetParam()) << " is refused here";
  RowReader reader(file_, {4096, 512, 64}, {GetParam(), 64 * 1024, 1024});
  read(reader, {9, 3, 9, 4, 3, 40});  // The gap from 4 to 9 is 2048 bytes, too long.
  EXPECT_EQ(reader.counts().reads, 3);
  EXPECT_EQ(reader.counts().bytes_read, 4 * 512);
  EXPECT_EQ(reader.counts().bytes_wanted, 4 * 512);
  read(reader, {10, 13});
  EXPECT_EQ(reader.counts().reads, 4);
  EXPECT_EQ(reader.counts().bytes_read, 8 * 512);
}

TEST_P(RowReaderTest, FileCutShortWhileOpenIsAnErrorAndNoSignal) {
  write_bytes(file_, random_bytes(100 * 1000, 3));
  if (refused()) GTEST_SKIP() << method_name(GetParam()) << " is refused here";
  RowReader reader(file_, {0, 1000, 100}, {GetParam()});
  const std::string kept = read(reader, {1, 20, 39});
  std::filesystem::resize_file(file_, 40'100);
  EXPECT_EQ(read(reader, {1, 20, 39}), kept);
  for (const int64_t row : {40, 41, 99}) {
    const std::string text = error_text<InputError>([&] { read(reader, {1, 20, row, 39}); });
    EXPECT_THAT(text, HasSubstr(file_.string() + ": the file ends at byte "));
    EXPECT_THAT(text, HasSubstr("truncated"));
  }
  EXPECT_EQ(read(reader, {39, 1, 20}), kept.substr(2000) + kept.substr(0, 2000))
      << "it goes on after an error";
}

TEST_P(RowReaderTest, RowsThatAreNotThereAreAnError) {
  write_bytes(file_, random_bytes(1000, 5));
  if (refused()) GTEST_SKIP() << method_name(GetParam()) << " is refused here";
  RowReader reader(file_, {0, 100, 10}, {GetParam()});
  for (const int64_t row : {-1, 10})
    EXPECT_EQ(error_text<InputError>([&] {
                read(reader, {3, row});
              }),
              fmt::format("{}: row {} was requested from a file with 10 rows, counted from 0", file_.string(),
                          row));
  EXPECT_EQ(error_text<InputError>([&] {
              RowReader(file_, {0, 100, 11}, {GetParam()});
            }),
            file_.string() + ": 1000 bytes, expected 1100 for 11 rows of 100 bytes from byte 0 on");
  EXPECT_EQ(error_text<InputError>([&] {
              RowReader(folder_ / "none", {0, 1, 1}, {GetParam()});
            }),
            "no such file: " + (folder_ / "none").string());
}

TEST_P(RowReaderTest, LedgerHoldsItsBuffersAndGetsThemBack) {
  write_bytes(file_, random_bytes(1000, 6));
  if (refused()) GTEST_SKIP() << method_name(GetParam()) << " is refused here";
  const int64_t before = Ledger::process().held();
  {
    const RowReader reader(file_, {0, 100, 10}, {GetParam(), 64 * 1024});
    const int64_t held = Ledger::process().held(Tag::cache);
    EXPECT_GT(held, 32 * 1024);
    EXPECT_LE(held, (64 + 4) * 1024);
  }
  EXPECT_EQ(Ledger::process().held(), before);
}

INSTANTIATE_TEST_SUITE_P(Ways, RowReaderTest, testing::ValuesIn(kMethods), [](const auto& method) {
  std::string name = method_name(method.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

using ReadMethodTest = RowReaderTest;

TEST_F(ReadMethodTest, ForbiddenRingIsReplaced) {
  const std::string bytes = random_bytes(2 << 20, 8);
  write_bytes(file_, bytes);
  const RowLayout layout{0, 512, 4096};
  const RowReader before(file_, layout);  // The method remembered for the device may use a ring.
  std::thread([&] {
    forbid_call(SYS_io_uring_setup, EPERM);  // Containers forbid the call with this error.
    EXPECT_FALSE(open_method(file_, ReadMethod::ring, 4096, 4096));
    RowReader reader(file_, layout);
    EXPECT_TRUE(reader.method() == ReadMethod::pool_direct || reader.method() == ReadMethod::pool)
        << method_name(reader.method());
    EXPECT_EQ(read(reader, {5, 4000, 6}), expected(bytes, layout, {5, 4000, 6}));
    EXPECT_THAT(error_text<Failure>([&] { RowReader(file_, layout, {ReadMethod::ring}); }),
                HasSubstr("cannot read " + file_.string() + " by ring: "));
    write_bytes(folder_ / "small", "x");
    EXPECT_NE(choose_method(folder_ / "small"), ReadMethod::ring_direct);
  }).join();
}

// At unmapped addresses, the memory of a process reads like a bad block. (It has no O_DIRECT, but errors are
// handled in the same way.)
TEST_F(ReadMethodTest, BadBlockIsAFailureWithFileAndOffset) {
  std::string good = random_bytes(4096, 4);
  const auto here = static_cast<int64_t>(reinterpret_cast<intptr_t>(good.data()));
  for (const ReadMethod method : {ReadMethod::ring, ReadMethod::pool}) {
    const auto opened = open_method("/proc/self/mem", method, 4096, 64 * 1024);
    if (!opened) continue;
    int at = 0;
    const auto next = [&](Extent& extent) {
      extent = {at % 2 == 0 ? here : 4096, 4096, 4096};
      return at++ < 20;
    };
    const std::string text =
        error_text<Failure>([&] { opened->reader->read(next, [](const Extent&, const std::byte*) {}); });
    EXPECT_EQ(text, "cannot read /proc/self/mem: 4096 bytes at byte 4096: Input/output error")
        << method_name(method);
  }
}

TEST_F(ReadMethodTest, ExtentThatIsLongerThanItsBufferIsAFailure) {
  write_bytes(file_, random_bytes(64 * 1024, 9));
  for (const ReadMethod method : kMethods) {
    const auto opened = open_method(file_, method, 4096, 16 * 1024);
    if (!opened) continue;
    int at = 0;
    const auto next = [&](Extent& extent) {
      extent = {0, at == 2 ? 32 * 1024 : 4096, 4096};
      return at++ < 20;
    };
    const auto read_all = [&] { opened->reader->read(next, [](const Extent&, const std::byte*) {}); };
    EXPECT_THAT(error_text<Failure>(read_all), HasSubstr("longer than its buffer")) << method_name(method);
    EXPECT_LT(at, 20) << method_name(method);
  }
}

// The kernel accepts no more requests while reads are in progress. The reads end before the error is thrown.
TEST_F(ReadMethodTest, RingThatFailsLeavesNoReadUnderWay) {
  const std::string bytes = random_bytes(256 * 4096, 10);
  write_bytes(file_, bytes);
  for (const ReadMethod method : {ReadMethod::ring_direct, ReadMethod::ring}) {
    const auto opened = open_method(file_, method, 4096, 64 * 4096);
    if (!opened) continue;
    std::thread([&] {
      int64_t asked = 0, used = 0;
      const auto next = [&](Extent& extent) {
        extent = {asked * 4096, 4096, 4096};
        return asked < 256 && ++asked > 0;
      };
      const auto use = [&](const Extent& extent, const std::byte* data) {
        if (used++ == 0) forbid_call(SYS_io_uring_enter, EBADF);
        EXPECT_EQ(std::memcmp(data, bytes.data() + extent.offset, 4096), 0);
      };
      EXPECT_THAT(error_text<Failure>([&] { opened->reader->read(next, use); }),
                  HasSubstr("io_uring failed on " + file_.string()));
      EXPECT_GT(used, 0);
      const auto none = [](Extent&) { return false; };
      EXPECT_NO_THROW(opened->reader->read(none, use)) << "reads are still under way";
    }).join();
  }
}

TEST_F(ReadMethodTest, FileSystemWithoutDirectReadsIsReadThroughThePageCache) {
  EXPECT_FALSE(open_method("/proc/self/mem", ReadMethod::ring_direct, 4096, 4096));
  EXPECT_FALSE(open_method("/proc/self/mem", ReadMethod::pool_direct, 4096, 4096));
  const ReadMethod method = choose_method("/proc/self/mem");
  EXPECT_TRUE(method == ReadMethod::ring || method == ReadMethod::pool);
}

TEST_F(ReadMethodTest, EnvironmentNamesTheWay) {
  write_bytes(file_, "0123456789");
  ::setenv("PLIMSOLL_READ", "pool", 1);
  EXPECT_EQ(RowReader(file_, {0, 1, 10}).method(), ReadMethod::pool);
  ::setenv("PLIMSOLL_READ", "fast", 1);
  EXPECT_EQ(error_text<UsageError>([&] {
              RowReader(file_, {0, 1, 10});
            }),
            "'fast' is not a method of reading; expected one of ring-direct, pool-direct, ring, pool");
  ::unsetenv("PLIMSOLL_READ");
}

}  // namespace
}  // namespace plimsoll
