#include "io/new_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include "io/file.h"
#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/is_empty_folder.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

// Writes a file at the top and one in a new folder.
void fill(NewFolder& folder, const std::string& text) {
  for (const auto& path : {folder.path() / "top", folder.add_folder("in/side") / "deep"}) {
    File file = File::create(path, folder.files());
    file.write(text.data(), text.size());
    file.sync();
  }
}

class NewFolderTest : public testing::Test {
 protected:
  static FaultTrials::Step publish(const std::string& text, const std::string& out = "/place/out") {
    return [=](FileSystem& files) {
      NewFolder folder(out, true, files);
      fill(folder, text);
      folder.publish();
    };
  }
  static void nothing(FileSystem&) {}

  void SetUp() override { make_folders("/place", memory_); }
  std::string top() { return read_text("/place/out/top", memory_); }
  size_t names_in_place() { return memory_.tree("/place").size() - memory_.tree("/place/out").size() - 1; }
  // Returns the number of calls that replace "old" by "new".
  static int calls_to_replace() {
    MemoryFiles memory;
    make_folders("/place", memory);
    publish("old")(memory);
    FaultyFiles counting(memory);
    publish("new")(counting);
    return counting.calls();
  }

  MemoryFiles memory_;
};

TEST_F(NewFolderTest, IsTheOldOneOrTheNewWhateverFails) {
  FaultTrials("/place/out", nothing, publish("new")).run();
  FaultTrials("/place/out", publish("old"), publish("new")).run();
}

TEST_F(NewFolderTest, FoldersMadeToHoldItStayOnlyWithIt) {
  const std::string out = "/place/a/b/out";
  FaultTrials(out, nothing, publish("new", out)).run();
  { const NewFolder unpublished(out, false, memory_); }
  EXPECT_FALSE(memory_.exists("/place/a"));
}

TEST_F(NewFolderTest, AFileInItsPlaceStays) {
  write_text("/place/out", "a file", memory_);
  for (const bool replace : {false, true}) {
    NewFolder folder("/place/out", replace, memory_);
    EXPECT_EQ(error_text<Failure>([&] { folder.publish(); }),
              "/place/out is a file, but the output is a folder; name another output");
  }
  EXPECT_EQ(read_text("/place/out", memory_), "a file");
}

// Another process created the folder while the new one was made.
TEST_F(NewFolderTest, WhatNobodyHereWroteStays) {
  publish("old")(memory_);
  write_text("/place/out/in/notes", "precious", memory_);
  EXPECT_EQ(
      error_text<Failure>([&] { publish("new")(memory_); }),
      "/place/out holds in/notes, which is not part of such an output; delete it, or name another output");
  EXPECT_EQ(top(), "old");
  EXPECT_EQ(names_in_place(), 0U);
}

TEST_F(NewFolderTest, AnEmptyFolderInItsPlaceIsKeptByFileSystemsOfAnyKind) {
  make_folders("/place/out", memory_);
  constexpr int kRename = 3;
  FaultyFiles no_flags(memory_, {Fault::error, kRename, EINVAL});
  NewFolder folder("/place/out", false, no_flags);
  EXPECT_THAT(error_text<Failure>([&] { folder.publish(); }), HasSubstr("--force"));
  EXPECT_EQ(no_flags.struck(), "rename");
  EXPECT_TRUE(is_empty_folder(memory_, "/place/out"));
}

// If the sync fails, it is unknown which of the two folders a power failure would leave.
TEST_F(NewFolderTest, WhenItsNameCannotBeSyncedAllIsAsItWasBefore) {
  FaultyFiles counting(memory_);
  publish("old")(counting);
  MemoryFiles other;
  make_folders("/place", other);
  FaultyFiles first(other, {Fault::error, counting.calls() - 1, EIO});
  EXPECT_EQ(error_text<Failure>([&] { publish("old")(first); }),
            "cannot sync folder /place: Input/output error");
  EXPECT_TRUE(is_empty_folder(other, "/place"));

  FaultyFiles second(memory_, {Fault::error, calls_to_replace() - 2, EIO});
  EXPECT_EQ(error_text<Failure>([&] { publish("new")(second); }),
            "cannot sync folder /place: Input/output error");
  EXPECT_EQ(top(), "old");
  EXPECT_EQ(names_in_place(), 0U);
}

TEST_F(NewFolderTest, WhenEvenThatFailsBothStay) {
  publish("old")(memory_);
  const int sync = calls_to_replace() - 2;
  FaultyFiles no_way_back(memory_, {Fault::error, sync, EIO});  // Does not see the first failing call.
  FaultyFiles faulty(no_way_back, {Fault::error, sync, EIO});
  EXPECT_THROW(publish("new")(faulty), Failure);
  EXPECT_EQ(no_way_back.struck(), "rename");
  EXPECT_EQ(top(), "new");
  const std::string aside = "/place/.out.tmp." + std::to_string(::getpid());
  EXPECT_EQ(read_text(aside + "/top", memory_), "old");
}

TEST_F(NewFolderTest, WhereTwoFoldersCannotBeExchangedTheOldOneStaysAndTheTextSaysWhatToDo) {
  publish("old")(memory_);
  FaultyFiles faulty(memory_, {Fault::error, calls_to_replace() - 3, EINVAL});
  EXPECT_THAT(error_text<Failure>([&] { publish("new")(faulty); }),
              HasSubstr("cannot exchange two folders in one step; delete it"));
  EXPECT_EQ(top(), "old");
  EXPECT_EQ(names_in_place(), 0U);
}

TEST_F(NewFolderTest, WhatIsLeftOfProcessesThatAreGoneIsRemoved) {
  for (const char* left : {".out.tmp.7", ".out.tmp.7.1", ".out.tmp.notes", ".other.tmp.7", ".out.old.7"})
    make_folders(std::string("/place/") + left + "/in", memory_);
  write_text("/place/.out.tmp.8", "a file that another process writes", memory_);
  const NewFolder living("/place/out", false, memory_);
  publish("new")(memory_);
  EXPECT_THAT(memory_.names_in("/place").value(),
              testing::UnorderedElementsAre("out", living.path().filename().string(), ".out.tmp.8",
                                            ".out.tmp.notes", ".other.tmp.7", ".out.old.7"));
}

TEST(NewFolderOnDisk, OneOfALivingProcessStaysAndOneOfADeadOneGoes) {
  const TempFolder folder;
  const auto in_child = [&](const std::function<void()>& end) {
    const pid_t child = ::fork();
    if (child == 0) {
      const NewFolder made(folder / "out", false);
      end();
    }
    return child;
  };
  const auto left = [&](pid_t child) {
    return std::filesystem::exists(folder / (".out.tmp." + std::to_string(child)));
  };
  const pid_t dead = in_child([] { ::raise(SIGKILL); });
  ::waitpid(dead, nullptr, 0);
  EXPECT_TRUE(left(dead));
  const pid_t living = in_child([] { ::pause(); });
  for (int i = 0; i < 10'000 && (!left(living) || left(dead)); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(left(dead));
  { const NewFolder next(folder / "out", false); }
  EXPECT_TRUE(left(living));
  ::kill(living, SIGKILL);
  ::waitpid(living, nullptr, 0);
  { const NewFolder next(folder / "out", false); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(NewFolderTest, AnOldOneThatCannotBeDeletedIsNamed) {
  publish("old")(memory_);
  FaultyFiles faulty(memory_, {Fault::error, calls_to_replace() - 1, EACCES});
  EXPECT_THAT(error_text<Failure>([&] { publish("new")(faulty); }),
              HasSubstr("/place/out was replaced, but the old one, now /place/.out.tmp."));
  EXPECT_EQ(top(), "new");
}

}  // namespace
}  // namespace plimsoll
