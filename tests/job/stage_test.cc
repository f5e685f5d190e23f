#include "job/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "io/file.h"
#include "job/evict.h"
#include "job/staging_folder.h"
#include "store/made_up_sets.h"
#include "store/verify.h"
#include "support/faulty_files.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class StageTest : public testing::Test {
 protected:
  StageTest() : data_(folder_.path() / "set"), root_(folder_.path() / "cache") {
    write_made_up_graphs(data_);
  }

  StageRequest request() const { return {.data = data_, .root = root_}; }
  // Ends the copy as a kill would, once `bytes` bytes are copied.
  Staged stage_until(int64_t bytes) const {
    StageRequest killed = request();
    killed.progress = [bytes](int64_t done, int64_t) {
      if (done >= bytes) throw std::runtime_error("killed");
    };
    return stage(killed);
  }
  static std::string bytes_of(const fs::path& file) { return read_text(file); }
  void expect_equal(const fs::path& copy) const {
    for (const auto& entry : fs::directory_iterator(data_))
      EXPECT_EQ(bytes_of(copy / entry.path().filename()), bytes_of(entry.path()));
  }
  // Counts everything except the boot file of a copy.
  size_t entries() const {
    size_t entries = 0;
    for (const auto& entry : fs::directory_iterator(root_)) entries += entry.path().extension() != ".boot";
    return entries;
  }

  TempFolder folder_;
  fs::path data_, root_;
};

TEST_F(StageTest, CopiesAllFilesAndSkipsWhatIsThere) {
  const Staged first = stage(request());
  EXPECT_EQ(first.copied, first.bytes);
  EXPECT_EQ(first.folder.parent_path(), root_);
  expect_equal(first.folder);
  EXPECT_TRUE(verify_data_set(first.folder).empty());
  EXPECT_EQ(entries(), 1U);

  const auto before = fs::last_write_time(first.folder / "x.npy");
  const Staged second = stage(request());
  EXPECT_EQ(second.copied, 0);
  EXPECT_EQ(second.folder, first.folder);
  EXPECT_EQ(fs::last_write_time(first.folder / "x.npy"), before);
}

TEST_F(StageTest, GoesOnFromWhereItWasStopped) {
  int64_t all = 0;
  for (const auto& entry : fs::directory_iterator(data_)) all += static_cast<int64_t>(entry.file_size());
  for (const int64_t stopped : {int64_t{1}, all / 3, all - 1}) {
    fs::remove_all(root_);
    EXPECT_THROW(stage_until(stopped), std::runtime_error);
    EXPECT_FALSE(staged_copy(data_, root_).has_value());
    const Staged staged = stage(request());
    EXPECT_GT(staged.resumed, 0) << stopped;
    EXPECT_EQ(staged.copied + staged.resumed, staged.bytes);
    expect_equal(staged.folder);
    EXPECT_EQ(entries(), 1U);
  }
}

TEST_F(StageTest, CopiesAgainWhatALostPowerLeft) {
  EXPECT_THROW(stage_until(1), std::runtime_error);
  const fs::path part = copy_place(data_, root_).part();
  for (const auto& entry : fs::directory_iterator(part)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x55');
  }
  const Staged staged = stage(request());
  EXPECT_EQ(staged.resumed, 0);
  expect_equal(staged.folder);
}

TEST_F(StageTest, RefusesADamagedSetAndLeavesNothing) {
  {
    std::fstream file(data_ / "x.npy", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x55');
  }
  try {
    stage(request());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("column 'x' has the checksum"));
  }
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(StageTest, RefusesADiskWithoutRoomBeforeItWrites) {
  StageRequest full = request();
  full.free_bytes = [] { return int64_t{1000}; };
  try {
    stage(full);
    FAIL();
  } catch (const Failure& error) {
    EXPECT_THAT(error.what(), HasSubstr("1000 (0.977 KiB) are free"));
    EXPECT_THAT(error.what(), HasSubstr("--evict"));
  }
  EXPECT_TRUE(fs::is_empty(root_));
  // Existing bytes need no space.
  EXPECT_THROW(stage_until(1), std::runtime_error);
  int64_t needed = 0;
  full.free_bytes = [&] { return needed; };
  for (const auto& entry : fs::directory_iterator(data_)) needed += static_cast<int64_t>(entry.file_size());
  needed -= 4096;  // At least a header was copied.
  EXPECT_NO_THROW(stage(full));
}

TEST_F(StageTest, ManyAtOnceMakeOneCopy) {
  std::atomic<int64_t> copied = 0;
  std::atomic<int64_t> bytes = 0;
  {
    std::vector<std::jthread> jobs;
    for (int i = 0; i < 4; ++i)
      jobs.emplace_back([&] {
        const Staged staged = stage(request());
        copied += staged.copied;
        bytes = staged.bytes;
      });
  }
  EXPECT_EQ(copied, bytes);
  expect_equal(*staged_copy(data_, root_));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(StageTest, ACopyOfAnotherBootIsComparedOnce) {
  const Staged first = stage(request());
  const CopyPlace place = copy_place(data_, root_);
  ASSERT_TRUE(fs::exists(place.boot()));
  EXPECT_TRUE(is_copy_reliable(place));
  write_text(place.boot(), "another boot\n");
  EXPECT_FALSE(staged_copy(data_, root_).has_value());
  EXPECT_EQ(stage(request()).copied, 0);
  EXPECT_FALSE(fs::exists(place.boot()));
  EXPECT_TRUE(staged_copy(data_, root_).has_value());

  // Bytes that were never written are zero after a power failure.
  write_text(place.boot(), "another boot\n");
  {
    std::fstream file(first.folder / "x.npy", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file << std::string(3000, '\0');
  }
  EXPECT_EQ(stage(request()).copied, first.bytes);
  expect_equal(first.folder);
  EXPECT_TRUE(is_copy_reliable(place));
}

TEST_F(StageTest, ADamagedCopyIsMadeAgain) {
  const Staged first = stage(request());
  fs::resize_file(first.folder / "y.npy", 4100);
  EXPECT_FALSE(staged_copy(data_, root_).has_value());
  const Staged again = stage(request());
  EXPECT_EQ(again.copied, again.bytes);
  expect_equal(again.folder);

  std::fstream file(again.folder / "y.npy", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x55');
  file.close();
  EXPECT_EQ(stage(request()).copied, 0) << "sizes alone";
  StageRequest full = request();
  full.verify_all = true;
  EXPECT_EQ(stage(full).copied, again.bytes);
  expect_equal(again.folder);
}

TEST_F(StageTest, AnotherSetOfTheSameNameLiesBeside) {
  const Staged first = stage(request());
  const fs::path other = folder_.path() / "elsewhere" / "set";
  GraphColumns columns = made_up_graphs(10);
  columns.x[0] += 1;
  write_made_up_graphs(other, columns);
  const Staged second = stage({.data = other, .root = root_});
  EXPECT_NE(first.folder, second.folder);
  EXPECT_EQ(entries(), 2U);
  // The staged copy of a copy is the copy itself.
  EXPECT_EQ(*staged_copy(first.folder, root_), first.folder);
  EXPECT_EQ(stage({.data = first.folder, .root = root_}).copied, 0);
}

TEST_F(StageTest, EvictsCopiesAndNothingElse) {
  const Staged staged = stage(request());
  fs::create_directories(root_ / "mine");
  fs::create_directories(root_ / "notes-2026");
  const fs::path other = folder_.path() / "other";
  write_made_up_graphs(other);
  stage({.data = other, .root = root_});
  const Eviction eviction = evict(data_, root_);
  ASSERT_EQ(eviction.deleted.size(), 1U);
  EXPECT_EQ(eviction.deleted.front().bytes, staged.bytes);
  EXPECT_FALSE(staged_copy(data_, root_).has_value());
  EXPECT_TRUE(staged_copy(other, root_).has_value());
  const Eviction all = evict({}, root_);
  EXPECT_EQ(all.deleted.size(), 1U);
  EXPECT_TRUE(all.left.empty());
  EXPECT_EQ(entries(), 2U) << "what is not ours stays";
}

TEST_F(StageTest, EvictLeavesWhatOnlyHasTheNameOfACopy) {
  const fs::path mine = root_ / "mine-0123456789abcdef", part = root_ / ".mine-0123456789abcdef.part";
  for (const fs::path& folder : {mine, part}) {
    fs::create_directories(folder);
    write_text(folder / "thesis.tex", "years");
  }
  // A data set that was made here, not copied.
  const fs::path set = root_ / "set-0123456789abcdef";
  write_made_up_graphs(set);
  const Eviction all = evict({}, root_);
  EXPECT_TRUE(all.deleted.empty());
  EXPECT_THAT(all.left, ElementsAre(part.filename(), mine.filename(), set.filename()));
  EXPECT_TRUE(fs::exists(mine / "thesis.tex") && fs::exists(part / "thesis.tex"));
  EXPECT_TRUE(verify_data_set(set).empty());
  EXPECT_EQ(entries(), 3U) << "no locks stay";
}

TEST_F(StageTest, EvictsCopiesThatAreDamagedOrNotDone) {
  const CopyPlace place = copy_place(data_, root_);
  EXPECT_THROW(stage_until(1), std::runtime_error);
  EXPECT_EQ(evict({}, root_).deleted.size(), 1U);
  EXPECT_TRUE(fs::is_empty(root_));

  stage(request());
  fs::resize_file(place.whole() / "y.npy", 4100);
  EXPECT_EQ(evict({}, root_).deleted.size(), 1U);
  EXPECT_TRUE(fs::is_empty(root_));

  // After a power failure, the boot file shows that the folder is a copy.
  stage(request());
  write_text(place.whole() / "manifest.json", std::string(100, '\0'));
  ASSERT_TRUE(fs::exists(place.boot()));
  EXPECT_EQ(evict({}, root_).deleted.size(), 1U);
  EXPECT_TRUE(fs::is_empty(root_));

  // Without the boot file and the manifest, only a request for the data set identifies the copy.
  stage(request());
  fs::remove(place.boot());
  fs::remove(place.whole() / "manifest.json");
  EXPECT_THAT(evict({}, root_).left, ElementsAre(place.name));
  EXPECT_EQ(evict(data_, root_).deleted.size(), 1U);
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(StageTest, EvictLeavesACopyThatIsBeingMade) {
  StageRequest busy = request();
  size_t deleted = 0;
  busy.progress = [&](int64_t, int64_t) { deleted += evict({}, root_).deleted.size(); };
  stage(busy);
  EXPECT_EQ(deleted, 0U);
}

TEST_F(StageTest, NearestCopyFollowsTheVariable) {
  const Staged staged = stage(request());
  ::unsetenv("PLIMSOLL_CACHE");
  EXPECT_EQ(nearest_copy(data_), data_);
  ::setenv("PLIMSOLL_CACHE", root_.c_str(), 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(nearest_copy(data_), staged.folder);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("reading the staged copy"));
  EXPECT_EQ(nearest_copy(staged.folder), staged.folder);
  ::setenv("PLIMSOLL_CACHE", (folder_.path() / "none").c_str(), 1);
  EXPECT_EQ(nearest_copy(data_), data_);
  ::unsetenv("PLIMSOLL_CACHE");
}

// Each call to the file system fails once. A folder with the name of the copy is always complete, and the
// next call continues.
TEST_F(StageTest, NoFaultLeavesAPartUnderTheName) {
  FaultyFiles counting(FileSystem::disk());
  StageRequest whole = request();
  StageRequest counted{.data = data_, .root = root_, .files = counting};
  const fs::path name = stage(counted).folder;
  for (const Fault::Kind kind : {Fault::error, Fault::full, Fault::kill, Fault::short_write})
    for (int at = 0; at < counting.calls(); ++at) {
      fs::remove_all(root_);
      FaultyFiles faulty(FileSystem::disk(), {kind, at, EIO});
      try {
        stage({.data = data_, .root = root_, .files = faulty});
      } catch (const Failure& error) {
        EXPECT_THAT(error.what(), HasSubstr(folder_.path().string()));
      }
      if (fs::exists(name)) expect_equal(name);
      stage(whole);
      expect_equal(name);
    }
}

TEST(Stage, KnowsFoldersInMemory) {
  EXPECT_FALSE(lies_in_memory("/proc/self"));
  if (!fs::exists("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  EXPECT_TRUE(lies_in_memory("/dev/shm/not/there"));
}

TEST_F(StageTest, NoDataSetIsAnError) {
  EXPECT_THROW(stage({.data = folder_.path(), .root = root_}), InputError);
}

}  // namespace
}  // namespace plimsoll
