#include "io/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "io/hidden_name.h"
#include "support/errors.h"
#include "support/faulty_files.h"
#include "support/is_empty_folder.h"
#include "support/memory_files.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Open = FileSystem::Open;
using Rename = FileSystem::Rename;

// Runs the same requests on the disk and on the file system in memory.
class FileSystemTest : public testing::TestWithParam<const char*> {
 protected:
  FileSystemTest() {
    if (std::string(GetParam()) == "Disk") {
      folder_ = std::make_unique<TempFolder>();
      root_ = folder_->path();
    } else {
      memory_ = std::make_unique<MemoryFiles>();
      make_folders(root_, *memory_);
    }
  }
  FileSystem& files() { return memory_ ? *memory_ : FileSystem::disk(); }
  fs::path at(const std::string& name) const { return root_ / name; }

  void write(const std::string& name, const std::string& text) {
    const int file = files().open(at(name), Open::write);
    ASSERT_GE(file, 0) << name;
    EXPECT_EQ(files().write(file, 0, text.data(), text.size()), static_cast<int64_t>(text.size()));
    files().close(file);
  }
  // Returns the text of a file, or the reason why there is none.
  std::string read(const std::string& name) {
    const int file = files().open(at(name), Open::read);
    if (file < 0) return std::strerror(errno);
    std::string text(100, '\0');
    const int64_t got = files().read(file, text.data(), text.size());
    files().close(file);
    return got < 0 ? std::strerror(errno) : text.substr(0, static_cast<size_t>(got));
  }
  void folder(const std::string& name) { EXPECT_EQ(files().make_folder(at(name)), 0) << name; }
  static void expect_refused(int result, int reason) {
    const int error = errno;
    EXPECT_EQ(result, -1);
    EXPECT_STREQ(std::strerror(error), std::strerror(reason));
  }
  void expect_no_rename(const std::string& from, const std::string& to, Rename how, int reason) {
    expect_refused(files().rename(at(from), at(to), how), reason);
  }

 private:
  std::unique_ptr<TempFolder> folder_;
  std::unique_ptr<MemoryFiles> memory_;
  fs::path root_ = "/root";
};

INSTANTIATE_TEST_SUITE_P(Of, FileSystemTest, testing::Values("Disk", "Memory"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(FileSystemTest, FilesAreWrittenAtAnyPlaceAndReadInOrder) {
  const int file = files().open(at("a"), Open::write);
  EXPECT_EQ(files().write(file, 0, "0123456789", 10), 10);
  EXPECT_EQ(files().write(file, 3, "xyz", 3), 3);
  EXPECT_EQ(files().write(file, 12, "!", 1), 1);
  EXPECT_EQ(files().sync(file), 0);
  files().close(file);
  EXPECT_EQ(read("a"), std::string("012xyz6789\0\0!", 13));

  const int reader = files().open(at("a"), Open::read);
  char two[2];
  EXPECT_EQ(files().read(reader, two, 2), 2);
  EXPECT_EQ(files().read(reader, two, 2), 2);
  EXPECT_EQ(std::string(two, 2), "2x");
  files().close(reader);
}

TEST_P(FileSystemTest, FilesAreOpenedAsAsked) {
  EXPECT_EQ(read("a"), std::strerror(ENOENT));
  EXPECT_EQ(read("missing/a"), std::strerror(ENOENT));
  write("a", "text");
  EXPECT_EQ(read("a/b"), std::strerror(ENOTDIR));
  expect_refused(files().open(at("a"), Open::write_new), EEXIST);
  EXPECT_EQ(read("a"), "text");
  files().close(files().open(at("a"), Open::write));
  EXPECT_EQ(read("a"), "");
  files().close(files().open(at("b"), Open::write_new));
  EXPECT_EQ(read("b"), "");
  folder("f");
  EXPECT_EQ(read("f"), std::strerror(EISDIR));
  expect_refused(files().open(at("f"), Open::write), EISDIR);
  expect_refused(files().open(at("missing/a"), Open::write), ENOENT);
}

TEST_P(FileSystemTest, AFileIsUpdatedAsItIs) {
  files().close(files().open(at("a"), Open::update));
  EXPECT_EQ(read("a"), "");
  write("a", "text");
  const int file = files().open(at("a"), Open::update);
  EXPECT_EQ(files().write(file, 1, "u", 1), 1);
  files().close(file);
  EXPECT_EQ(read("a"), "tuxt");
  folder("f");
  expect_refused(files().open(at("f"), Open::update), EISDIR);
}

TEST_P(FileSystemTest, OneOpenFileHasTheLockUntilItIsClosed) {
  for (const char* name : {"a", "f"}) {
    name[0] == 'a' ? write("a", "text") : folder("f");
    const Open how = name[0] == 'a' ? Open::update : Open::read;
    const int first = files().open(at(name), how), second = files().open(at(name), how);
    EXPECT_EQ(files().lock(first, at(name)), 0);
    expect_refused(files().lock(second, at(name)), EWOULDBLOCK);
    files().close(first);
    EXPECT_EQ(files().lock(second, at(name)), 0);
    EXPECT_EQ(files().rename(at(name), at("other"), Rename::no_replace), 0);
    expect_refused(files().lock(second, at(name)), ESTALE);
    EXPECT_EQ(files().lock(second, at("other")), 0);
    files().close(second);
    files().remove_tree(at("other"));
  }
}

TEST_P(FileSystemTest, NamesAreThoseInAFolder) {
  folder("f");
  write("f/a", "a");
  folder("f/b");
  EXPECT_THAT(files().names_in(at("f")), testing::Optional(testing::UnorderedElementsAre("a", "b")));
  EXPECT_EQ(files().names_in(at("f/a")), std::nullopt);
  EXPECT_EQ(files().names_in(at("missing")), std::nullopt);
}

TEST_P(FileSystemTest, FoldersAreMadeAndRemoved) {
  folder("f");
  expect_refused(files().make_folder(at("f")), EEXIST);
  expect_refused(files().make_folder(at("missing/f")), ENOENT);
  EXPECT_TRUE(files().exists(at("f")));
  EXPECT_TRUE(is_empty_folder(files(), at("f")));
  EXPECT_EQ(files().sync_folder(at("f")), 0);
  write("f/a", "a");
  EXPECT_FALSE(is_empty_folder(files(), at("f")));
  EXPECT_FALSE(is_empty_folder(files(), at("f/a")));
  EXPECT_FALSE(is_empty_folder(files(), at("missing")));
  expect_refused(files().remove_folder(at("f")), ENOTEMPTY);
  expect_refused(files().remove_folder(at("f/a")), ENOTDIR);
  expect_refused(files().remove_file(at("f")), EISDIR);
  expect_refused(files().sync_folder(at("missing")), ENOENT);
  expect_refused(files().sync_folder(at("f/a")), ENOTDIR);
  EXPECT_EQ(files().remove_file(at("f/a")), 0);
  expect_refused(files().remove_file(at("f/a")), ENOENT);
  EXPECT_EQ(files().remove_folder(at("f")), 0);
  expect_refused(files().remove_folder(at("f")), ENOENT);
  EXPECT_FALSE(files().exists(at("f")));
}

TEST_P(FileSystemTest, ATreeIsRemovedWithAllThatIsInIt) {
  folder("f");
  folder("f/g");
  write("f/g/a", "a");
  write("a", "a");
  EXPECT_EQ(files().remove_tree(at("f")), 0);
  EXPECT_FALSE(files().exists(at("f")));
  EXPECT_EQ(files().remove_tree(at("f")), 0) << "nothing is there, which is what was wanted";
  EXPECT_EQ(files().remove_tree(at("a")), 0);
  EXPECT_FALSE(files().exists(at("a")));
}

TEST_P(FileSystemTest, ARenameReplacesAFileOnlyWhereAsked) {
  write("a", "a");
  write("b", "b");
  expect_no_rename("a", "b", Rename::no_replace, EEXIST);
  EXPECT_EQ(read("b"), "b");
  EXPECT_EQ(files().rename(at("a"), at("b"), Rename::replace), 0);
  EXPECT_EQ(read("b"), "a");
  EXPECT_FALSE(files().exists(at("a")));
  EXPECT_EQ(files().rename(at("b"), at("c"), Rename::no_replace), 0);
  EXPECT_EQ(read("c"), "a");
  expect_no_rename("missing", "d", Rename::replace, ENOENT);
  expect_no_rename("c", "missing/d", Rename::replace, ENOENT);
}

TEST_P(FileSystemTest, ARenameReplacesAFolderOnlyByAFolderAndIfItIsEmpty) {
  write("a", "a");
  folder("f");
  folder("g");
  write("g/a", "a");
  expect_no_rename("a", "f", Rename::replace, EISDIR);
  expect_no_rename("f", "a", Rename::replace, ENOTDIR);
  expect_no_rename("f", "g", Rename::replace, ENOTEMPTY);
  expect_no_rename("g", "f", Rename::no_replace, EEXIST);
  EXPECT_EQ(files().rename(at("g"), at("f"), Rename::replace), 0);
  EXPECT_EQ(read("f/a"), "a");
}

TEST_P(FileSystemTest, AnExchangeTakesFilesAndFolders) {
  folder("f");
  write("f/inside", "of f");
  folder("g");
  write("a", "a");
  expect_no_rename("f", "missing", Rename::exchange, ENOENT);
  EXPECT_EQ(files().rename(at("f"), at("g"), Rename::exchange), 0);
  EXPECT_EQ(read("g/inside"), "of f");
  EXPECT_TRUE(is_empty_folder(files(), at("f")));
  EXPECT_EQ(files().rename(at("a"), at("g"), Rename::exchange), 0);
  EXPECT_EQ(read("g"), "a");
  EXPECT_EQ(read("a/inside"), "of f");
}

TEST(Disk, ALinkStandsForItself) {
  const TempFolder folder;
  fs::create_symlink("nowhere", folder / "link");
  EXPECT_TRUE(FileSystem::disk().exists(folder / "link"));
}

class MemoryFilesTest : public testing::Test {
 protected:
  void write(const std::string& text, bool sync) {
    const int file = files_.open("/a", Open::write);
    files_.write(file, 0, text.data(), text.size());
    if (sync) files_.sync(file);
    files_.close(file);
  }
  MemoryFiles files_;
};

TEST_F(MemoryFilesTest, APowerFailureTakesWhatWasNotSynced) {
  write("old", true);
  files_.lose_power(0);
  EXPECT_THAT(files_.tree("/"), ElementsAre(testing::Key("/"))) << "its name was not synced";
  write("old", true);
  files_.sync_folder("/");
  write("new, and longer", false);
  files_.rename("/a", "/b", Rename::replace);
  files_.lose_power(0);
  EXPECT_EQ(files_.tree("/")["/a"], "old");
  EXPECT_FALSE(files_.exists("/b"));
}

TEST_F(MemoryFilesTest, APowerFailureMayLeaveEverythingOrParts) {
  std::map<std::string, int> seen;
  for (uint32_t seed = 1; seed < 100; ++seed) {
    files_ = MemoryFiles();
    write("1234", false);
    files_.lose_power(seed);
    const auto tree = files_.tree("/");
    const auto found = tree.find("/a");
    const std::string what = found == tree.end() ? "nothing" : found->second;
    ++seen[what];
    EXPECT_TRUE(seed != 1 || what == "1234");
  }
  EXPECT_EQ(seen.size(), 5U);
  for (const std::string& what :
       {std::string("nothing"), std::string(), std::string("12"), std::string("1234"), std::string(4, '\0')})
    EXPECT_GT(seen[what], 0) << what;
}

class FoldersAndNames : public testing::Test {
 protected:
  MemoryFiles files_;
};

TEST_F(FoldersAndNames, MakeFoldersMakesWhatIsMissingAndSaysWhat) {
  EXPECT_THAT(make_folders("/a", files_), ElementsAre("/a"));
  EXPECT_THAT(make_folders("/a/b/c", files_), ElementsAre("/a/b", "/a/b/c"));
  EXPECT_THAT(make_folders("/a/b/c", files_), IsEmpty());
  EXPECT_THAT(make_folders("", files_), IsEmpty());
  EXPECT_THAT(make_folders("x/y", files_), ElementsAre("x", "x/y"));
  files_.lose_power(0);
  EXPECT_TRUE(files_.exists("/a/b/c"));
  EXPECT_TRUE(files_.exists("/x/y"));
}

TEST_F(FoldersAndNames, MakeFoldersLeavesNothingWhenItFails) {
  make_folders("/a", files_);
  for (int at = 0; at < 6; ++at) {
    FaultyFiles faulty(files_, {Fault::error, at, ENOSPC});
    const std::string error = error_text<Failure>([&] { make_folders("/a/b/c/d", faulty); });
    EXPECT_THAT(error, HasSubstr("/a"));
    EXPECT_THAT(error, HasSubstr("No space left on device; make room"));
    EXPECT_TRUE(is_empty_folder(files_, "/a")) << at;
  }
}

TEST_F(FoldersAndNames, RemoveFoldersLeavesThoseWithSomethingInThem) {
  const auto made = make_folders("/a/b/c", files_);
  files_.close(files_.open("/a/file", Open::write));
  remove_folders(made, files_);
  EXPECT_FALSE(files_.exists("/a/b"));
  EXPECT_TRUE(files_.exists("/a/file"));
}

TEST_F(FoldersAndNames, AFolderThatCannotBeSyncedAtAllIsNoError) {
  FaultyFiles faulty(files_, {Fault::error, 0, EINVAL});
  EXPECT_NO_THROW(sync_folder("/", faulty));
}

TEST_F(FoldersAndNames, AFreeNameIsTakenAlsoWhereTheFileSystemCannotDoItInOneStep) {
  make_folders("/a", files_);
  make_folders("/taken/b", files_);
  FaultyFiles old_disk(files_, {Fault::error, 0, EINVAL});
  EXPECT_EQ(rename_to_free("/a", "/taken", old_disk), -1);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_TRUE(files_.exists("/taken/b"));
  FaultyFiles old_kernel(files_, {Fault::error, 0, ENOSYS});
  EXPECT_EQ(rename_to_free("/a", "/free", old_kernel), 0);
  EXPECT_TRUE(files_.exists("/free"));
  FaultyFiles broken(files_, {Fault::error, 0, EIO});
  EXPECT_EQ(rename_to_free("/free", "/a", broken), -1);
  EXPECT_EQ(errno, EIO);
}

TEST_F(FoldersAndNames, NamesBesideATakenOneAreHiddenAndNumbered) {
  const std::string pid = std::to_string(::getpid());
  const auto make = [&](const fs::path& name) { return files_.make_folder(name); };
  EXPECT_EQ(make_beside("/out", "tmp", make), "/.out.tmp." + pid);
  EXPECT_EQ(make_beside("/out", "tmp", make), "/.out.tmp." + pid + ".1");
  EXPECT_EQ(make_beside("/out", "tmp", make), "/.out.tmp." + pid + ".2");
  EXPECT_EQ(make_beside("out", "old", make), ".out.old." + pid);
  EXPECT_THAT(error_text<Failure>([&] { make_beside("/missing/out", "tmp", make); }),
              StartsWith("cannot make /missing/.out.tmp."));
}

TEST_F(FoldersAndNames, HiddenNamesOfLongNamesAreNoLongerThanNamesMayBe) {
  const TempFolder folder;
  const auto make = [](const fs::path& name) { return FileSystem::disk().make_folder(name); };
  for (size_t length = 220; length <= 255; ++length) {
    const fs::path path = folder / std::string(length, 'n');
    const fs::path first = make_beside(path, "old", make);
    const fs::path second = make_beside(path, "old", make);
    EXPECT_NE(first, second);
    for (const fs::path& made : {first, second}) {
      EXPECT_TRUE(fs::is_directory(made));
      EXPECT_THAT(made.filename().string(), StartsWith(hidden_prefix(path, "old")));
      fs::remove(made);
    }
  }
  const std::string euro = "\xe2\x82\xac";
  std::string name = "n";
  while (name.size() + euro.size() <= 255) name += euro;
  const std::string prefix = hidden_prefix(name, "tmp");
  EXPECT_EQ((prefix.size() - std::string(".n.tmp.").size()) % euro.size(), 0U) << "no half of a character";
}

TEST_F(FoldersAndNames, AFailureSaysWhatToDoWhereThatIsKnown) {
  const auto text = [](int error) {
    errno = error;
    return std::string(file_failure("cannot write", "/a").what());
  };
  EXPECT_EQ(text(EIO), "cannot write /a: Input/output error");
  EXPECT_THAT(text(ENOSPC), HasSubstr("No space left on device; make room"));
  EXPECT_THAT(text(EDQUOT), HasSubstr("make room"));
  EXPECT_THAT(text(EFBIG), HasSubstr("ulimit"));
}

}  // namespace
}  // namespace plimsoll
