#include "io/file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/names_in.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FileTest : public testing::Test {
 protected:
  TempFolder folder_;
};

TEST_F(FileTest, WritesAndReadsBack) {
  File file = File::create(folder_ / "a");
  file.write("0123456789", 10);
  file.write_at(3, "xyz", 3);
  file.write("!", 1);
  file.sync();
  File reader = File::open(folder_ / "a");
  std::string text(20, '\0');
  text.resize(reader.read(text.data(), text.size()));
  EXPECT_EQ(text, "012xyz6789!");
  EXPECT_EQ(reader.read(text.data(), text.size()), 0U);
}

TEST_F(FileTest, CreateBeginsFromNothing) {
  write_bytes(folder_ / "a", "old content");
  File::create(folder_ / "a");
  EXPECT_EQ(read_text(folder_ / "a"), "");
}

TEST_F(FileTest, ClosesItsDescriptorOnceHoweverOftenItMoves) {
  File file = File::create(folder_ / "a");
  const int descriptor = file.descriptor();
  struct stat status {};
  {
    File second = std::move(file);
    File third = File::create(folder_ / "b");
    third = std::move(second);
    EXPECT_EQ(third.descriptor(), descriptor);
    EXPECT_EQ(::fstat(descriptor, &status), 0);
  }
  EXPECT_EQ(::fstat(descriptor, &status), -1);
}

TEST_F(FileTest, AMissingFileIsAnInputErrorThatNamesIt) {
  const auto path = folder_ / "missing.csv";
  EXPECT_THAT(error_text<InputError>([&] { File::open(path); }), HasSubstr(path.string()));
  EXPECT_THAT(error_text<InputError>([&] { read_text(path); }), HasSubstr(path.string()));
  EXPECT_THAT(error_text<InputError>([&] { MappedFile mapped(path); }), HasSubstr(path.string()));
}

TEST_F(FileTest, WhatTheSystemRefusesIsAFailureThatNamesThePath) {
  const auto path = folder_ / "no_folder" / "a";
  EXPECT_THAT(error_text<Failure>([&] { File::create(path); }), HasSubstr(path.string()));
  EXPECT_THAT(error_text<Failure>([&] { write_text(path, "text"); }), HasSubstr(path.parent_path().string()));
  EXPECT_THROW(sync_folder(folder_ / "no_folder"), Failure);
  EXPECT_EQ(error_text<InputError>([&] { read_text(folder_.path()); }),
            folder_.path().string() + ": is a folder, expected a file");
}

TEST_F(FileTest, AFullDiskIsAFailureThatNamesTheRemedy) {
  const std::string error = error_text<Failure>([] { File::create("/dev/full").write("x", 1); });
  EXPECT_THAT(error, HasSubstr("cannot write /dev/full: No space left on device; make room"));
}

TEST_F(FileTest, WritesThatAreCutShortOrInterruptedGoOn) {
  MemoryFiles memory;
  for (const Fault fault : {Fault{Fault::short_write, 1}, Fault{Fault::short_write, 2},
                            Fault{Fault::error, 1, EINTR}, Fault{Fault::error, 2, EINTR}}) {
    FaultyFiles files(memory, fault);
    File file = File::create("/a", files);
    file.write("0123456789", 10);
    file.write_at(2, "xyz", 3);
    EXPECT_EQ(files.struck(), "write");
    EXPECT_EQ(read_text("/a", memory), "01xyz56789");
  }
}

TEST_F(FileTest, AReadThatFailsIsAFailureThatNamesTheFileAndOneThatIsInterruptedGoesOn) {
  MemoryFiles memory;
  write_text("/a", "text", memory);
  FaultyFiles broken(memory, {Fault::error, 1, EIO});
  EXPECT_EQ(error_text<Failure>([&] { read_text("/a", broken); }), "cannot read /a: Input/output error");
  FaultyFiles interrupted(memory, {Fault::error, 1, EINTR});
  EXPECT_EQ(read_text("/a", interrupted), "text");
}

TEST_F(FileTest, AMapShowsTheBytesAndOutlivesAMove) {
  write_bytes(folder_ / "a", "content");
  write_bytes(folder_ / "empty", "");
  MappedFile first(folder_ / "a");
  const MappedFile second = std::move(first);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(second.bytes().data()), second.bytes().size()),
            "content");
  EXPECT_TRUE(MappedFile(folder_ / "empty").bytes().empty());
  EXPECT_TRUE(MappedFile().bytes().empty());
}

TEST_F(FileTest, WriteTextReplacesAFileAndLeavesNoTemporary) {
  write_text(folder_ / "a.json", "first, and longer");
  write_text(folder_ / "a.json", "second");
  EXPECT_EQ(read_text(folder_ / "a.json"), "second");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("a.json"));
}

TEST_F(FileTest, WriteTextThatFailsLeavesTheOldFileAndNoTemporary) {
  std::filesystem::create_directories(folder_ / "taken" / "inside");
  EXPECT_THROW(write_text(folder_ / "taken", "text"), Failure);
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("taken"));
}

TEST_F(FileTest, WriteTextBesideATemporaryThatAKilledRunLeftWorks) {
  const std::string left = ".a.tmp." + std::to_string(::getpid());
  write_bytes(folder_ / left, "half");
  write_text(folder_ / "a", "text");
  EXPECT_EQ(read_text(folder_ / "a"), "text");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre(left, "a")) << "it may be that of a process elsewhere";
}

TEST_F(FileTest, WriteTextLeavesTheOldOrTheNewWhateverFails) {
  const auto write = [](const std::string& text) {
    return [=](FileSystem& files) { write_text("/place/a", text, files); };
  };
  FaultTrials(
      "/place/a", [](FileSystem&) {}, write("new"))
      .run();
  FaultTrials("/place/a", write("old, and longer"), write("new")).run();
}

TEST_F(FileTest, AReaderSeesTheOldTextOrTheNewNeverAPart) {
  const auto path = folder_ / "a";
  const std::string texts[] = {std::string(200'000, 'a'), std::string(100'000, 'b')};
  write_text(path, texts[0]);
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int i = 1; i < 60; ++i) write_text(path, texts[i % 2]);
    done = true;
  });
  int torn = 0;
  while (!done) {
    const std::string seen = read_text(path);
    if (seen != texts[0] && seen != texts[1]) ++torn;
  }
  EXPECT_EQ(torn, 0);
}

// Returns the resident bytes of a mapping, from /proc/self/smaps.
int64_t resident(std::span<const std::byte> mapping) {
  std::ifstream smaps("/proc/self/smaps");
  const std::string begin = fmt::format("{:x}-", reinterpret_cast<uintptr_t>(mapping.data()));
  std::string line;
  while (std::getline(smaps, line) && !line.starts_with(begin)) {
  }
  while (std::getline(smaps, line))
    if (line.starts_with("Rss:")) return std::stoll(line.substr(4)) * 1024;
  return -1;
}

TEST_F(FileTest, WhatIsReleasedIsReadAgain) {
  const std::string text(1 << 20, 'x');
  write_text(folder_ / "a", text);
  const MappedFile mapped(folder_ / "a");
  const auto sum = [&] {
    int64_t total = 0;
    for (const std::byte byte : mapped.bytes()) total += static_cast<int64_t>(byte);
    return total;
  };
  EXPECT_EQ(sum(), int64_t{'x'} << 20);
  EXPECT_EQ(resident(mapped.bytes()), 1 << 20);
  mapped.release();
  EXPECT_EQ(resident(mapped.bytes()), 0);
  EXPECT_EQ(sum(), int64_t{'x'} << 20);
  MappedFile().release();
}

}  // namespace
}  // namespace plimsoll
