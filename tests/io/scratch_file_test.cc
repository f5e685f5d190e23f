#include "io/scratch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/write_behind.h"
#include "memory/ledger.h"
#include "support/errors.h"
#include "support/forbid_call.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kPage = ScratchFile::kAlignment;

std::string read(const ScratchFile& file, int64_t offset, int64_t bytes) {
  MappedBytes memory(Tag::cache, bytes);
  file.read(offset, {memory.data(), static_cast<size_t>(bytes)});
  return {reinterpret_cast<const char*>(memory.data()), static_cast<size_t>(bytes)};
}

class ScratchFileTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ScratchFile::make(folder_.path(), kPage)) GTEST_SKIP() << "temporary files lie in memory";
  }
  const TempFolder folder_;
};
using WriteBehindTest = ScratchFileTest;

TEST_F(ScratchFileTest, IsReadAsItWasWrittenAndHasNoName) {
  ScratchFile file = *ScratchFile::make(folder_.path(), 8 * kPage);
  MappedBytes page(Tag::cache, kPage);
  std::memset(page.data(), 'x', kPage);
  file.write(3 * kPage, {page.data(), kPage});
  EXPECT_EQ(read(file, 3 * kPage, kPage), std::string(kPage, 'x'));
  EXPECT_EQ(read(file, 0, kPage), std::string(kPage, '\0'));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(ScratchFileTest, ThereIsNoneWithoutRoomOrInMemory) {
  const auto free = static_cast<int64_t>(std::filesystem::space(folder_.path()).available);
  EXPECT_FALSE(ScratchFile::make(folder_.path(), free)) << "it would leave nothing to others";
  EXPECT_LE(ScratchFile::room(folder_.path()), free / 2 + free / 16) << "others write, too";
  EXPECT_FALSE(ScratchFile::make(folder_ / "missing", kPage));
  EXPECT_EQ(ScratchFile::room(folder_ / "missing"), 0);
  if (std::filesystem::is_directory("/dev/shm")) {
    EXPECT_FALSE(ScratchFile::make("/dev/shm", kPage)) << "memory outside the budget";
    EXPECT_EQ(ScratchFile::room("/dev/shm"), 0);
  }
}

TEST_F(ScratchFileTest, ErrorsNameTheFolder) {
  ScratchFile file = *ScratchFile::make(folder_.path(), kPage);
  MappedBytes page(Tag::cache, kPage);
  EXPECT_THAT(error_text<Failure>([&] {
                file.read(4 * kPage, {page.data(), kPage});
              }),
              AllOf(HasSubstr(folder_.path().string()), HasSubstr("byte 16384")));
}

// Writes that the kernel no longer accepts are done one by one.
TEST_F(WriteBehindTest, RingThatFailsLosesNothing) {
  ScratchFile file = *ScratchFile::make(folder_.path(), 64 * kPage);
  std::thread([&] {
    WriteBehind writes(file, 8, kPage, 8);
    for (int64_t page = 0; page < 64; ++page) {
      if (page == 20) forbid_call(SYS_io_uring_enter, EBADF);
      std::byte* const buffer = writes.take();
      std::memset(buffer, static_cast<int>('a' + page % 26), kPage);
      writes.write(buffer, page * kPage, kPage);
    }
    writes.finish();
  }).join();
  for (int64_t page = 0; page < 64; ++page)
    ASSERT_EQ(read(file, page * kPage, kPage), std::string(kPage, static_cast<char>('a' + page % 26)))
        << page;
}

TEST_F(WriteBehindTest, AllIsThereWhenItIsFinished) {
  ScratchFile file = *ScratchFile::make(folder_.path(), 256 * kPage);
  std::mt19937 random(1);
  std::vector<char> expected(256);
  {
    WriteBehind writes(file, 6, 2 * kPage, 4);
    for (int64_t page = 0; page < 256;) {
      const int64_t pages = std::min<int64_t>(1 + random() % 2, 256 - page);
      std::byte* const buffer = writes.take();
      for (int64_t p = 0; p < pages; ++p) {
        expected[static_cast<size_t>(page + p)] = static_cast<char>('a' + random() % 26);
        std::memset(buffer + p * kPage, expected[static_cast<size_t>(page + p)], kPage);
      }
      writes.write(buffer, page * kPage, pages * kPage);
      page += pages;
    }
    writes.finish();
  }
  for (int64_t page = 0; page < 256; ++page)
    EXPECT_EQ(read(file, page * kPage, kPage), std::string(kPage, expected[static_cast<size_t>(page)]));
}

TEST_F(WriteBehindTest, AnErrorComesToWhoGoesOn) {
  ScratchFile file = *ScratchFile::make(folder_.path(), kPage);
  WriteBehind writes(file, 2, kPage, 2);
  std::byte* const buffer = writes.take();
  const auto fail = [&] {
    writes.write(buffer, -kPage, kPage);  // An impossible offset.
    writes.finish();
  };
  EXPECT_THAT(error_text<Failure>(fail), HasSubstr("cannot write"));
  EXPECT_THAT(error_text<Failure>([&] { writes.take(); }), HasSubstr("cannot write"));
}

}  // namespace
}  // namespace plimsoll
