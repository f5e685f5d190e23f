#include "run/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "io/file.h"
#include "support/errors.h"
#include "support/faulty_files.h"
#include "support/is_empty_folder.h"
#include "support/memory_files.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Tree = std::map<std::string, std::string>;

const RunFolder kFolder{"/place/run"};

// Writes a run as `train` does; `text` distinguishes runs.
void train(FileSystem& files, const std::string& text, bool force = true) {
  NewRun run(kFolder, force, files);
  make_folders(kFolder.root / "seed-42" / "gat", files);
  write_text(kFolder.root / "seed-42" / "gat" / "model", text, files);
  write_text(kFolder.manifest(), R"({"kind": "run"})", files);
  run.commit();
}

class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override { prepare(files_); }
  static void prepare(FileSystem& files) { make_folders("/place", files); }
  // The tree of files without the lock, which a killed process leaves.
  static Tree tree(MemoryFiles& files, const fs::path& root) {
    Tree tree = files.tree(root);
    tree.erase("/run.lock");
    return tree;
  }
  Tree run() { return tree(files_, "/place/run"); }
  std::string model() { return run()["/seed-42/gat/model"]; }
  MemoryFiles files_;
};

TEST_F(RunFolderTest, ARunIsReplacedOnlyWhereAsked) {
  train(files_, "old", false);
  EXPECT_THAT(error_text<Failure>([&] { train(files_, "new", false); }), HasSubstr("--force"));
  EXPECT_EQ(model(), "old");
  train(files_, "new");
  EXPECT_EQ(model(), "new");
  EXPECT_EQ(files_.tree("/place").size(), run().size() + 1);
}

TEST_F(RunFolderTest, ARunOfTheLongestNameIsReplaced) {
  const TempFolder around;
  for (const size_t length : {237, 238, 250, 255}) {
    const RunFolder folder{around / std::string(length, 'r')};
    for (const bool force : {false, true}) {
      NewRun run(folder, force);
      EXPECT_FALSE(FileSystem::disk().exists(folder.manifest()));
      write_text(folder.manifest(), R"({"kind": "run"})");
      run.commit();
    }
    EXPECT_TRUE(holds_a_run(folder));
  }
  EXPECT_EQ(FileSystem::disk().names_in(around.path())->size(), 4U) << "nothing is left of the old ones";
}

TEST_F(RunFolderTest, AnEmptyFolderIsTakenAndOneThatHoldsNoRunIsNot) {
  make_folders("/place/run", files_);
  train(files_, "new", false);
  EXPECT_EQ(model(), "new");
  for (const char* manifest : {"", "{", "[]", "{\"kind\": \"frames\"}", "{\"kind\": 7}"}) {
    write_text(kFolder.manifest(), manifest, files_);
    EXPECT_THAT(error_text<Failure>([&] { train(files_, "newer"); }), HasSubstr("does not hold a run"))
        << manifest;
  }
  files_.remove_tree("/place/run");
  write_text("/place/run", "a file", files_);
  EXPECT_THAT(error_text<Failure>([&] { train(files_, "newer"); }), HasSubstr("does not hold a run"));
  EXPECT_EQ(read_text("/place/run", files_), "a file");
}

TEST_F(RunFolderTest, WhatIsInTheHandsOfATrainerIsLeftToIt) {
  const NewRun first(kFolder, false, files_);
  const Tree before = files_.tree("/place");
  for (const bool force : {false, true})
    EXPECT_THAT(error_text<Failure>([&] { train(files_, "second", force); }),
                HasSubstr("/place/run is locked by process " + std::to_string(::getpid()) + " on "));
  write_text(kFolder.manifest(), R"({"kind": "run"})", files_);
  for (const bool force : {false, true})
    EXPECT_THAT(error_text<Failure>([&] { train(files_, "second", force); }), HasSubstr("locked by"));
  files_.remove_file(kFolder.manifest());
  EXPECT_EQ(files_.tree("/place"), before);
}

TEST_F(RunFolderTest, ATrainerThatEndsWhileItIsNamedIsNoError) {
  struct LockThatGoes : FaultyFiles {
    using FaultyFiles::FaultyFiles;
    int lock(int, const Path& path) override {
      remove_file(path);
      errno = EWOULDBLOCK;
      return -1;
    }
  };
  const NewRun first(kFolder, false, files_);
  write_text(kFolder.manifest(), R"({"kind": "run"})", files_);
  LockThatGoes files(files_);
  EXPECT_EQ(holder_of_run(kFolder.root, files), "another process");
  EXPECT_THAT(error_text<Failure>([&] { RunLock(kFolder.root, files); }),
              HasSubstr("locked by another process"));
}

TEST_F(RunFolderTest, ARunThatReplacesAnotherHasTheLockToItsEnd) {
  train(files_, "old");
  {
    NewRun forced(kFolder, true, files_);
    EXPECT_THROW(train(files_, "third"), Failure);
    write_text(kFolder.manifest(), R"({"kind": "run"})", files_);
    EXPECT_THROW(train(files_, "third"), Failure);
    forced.commit();
    EXPECT_THROW(train(files_, "third"), Failure);
  }
  train(files_, "third");
  EXPECT_EQ(model(), "third");
}

TEST_F(RunFolderTest, WhereFoldersCannotBeExchangedTheOldRunIsRenamed) {
  struct NoExchange : FaultyFiles {
    using FaultyFiles::FaultyFiles;
    int rename(const Path& from, const Path& to, Rename how) override {
      errno = EINVAL;
      return how == Rename::exchange ? -1 : FaultyFiles::rename(from, to, how);
    }
  };
  train(files_, "old");
  const Tree before = files_.tree("/place");
  NoExchange files(files_);
  { const NewRun ended_early(kFolder, true, files); }
  EXPECT_EQ(files_.tree("/place"), before);
  train(files, "new");
  EXPECT_EQ(model(), "new");
  EXPECT_EQ(files_.tree("/place").size(), before.size());
}

TEST_F(RunFolderTest, WhereThereAreNoLocksARunGoesOnWithout) {
  struct NoLocks : FaultyFiles {
    using FaultyFiles::FaultyFiles;
    int lock(int, const Path&) override {
      errno = ENOLCK;
      return -1;
    }
  };
  NoLocks files(files_);
  testing::internal::CaptureStderr();
  train(files, "new");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("/place/run cannot be locked: No locks"));
  EXPECT_EQ(model(), "new");
}

TEST_F(RunFolderTest, WhatAProcessLeftThatWasKilledBeforeTheManifestIsNothing) {
  make_folders(kFolder.root, files_);
  write_text(kFolder.root / "run.lock", "process 7 on another\n", files_);
  write_text(kFolder.root / ".manifest.json.tmp.7", "{", files_);
  train(files_, "new", false);
  EXPECT_EQ(model(), "new");
  EXPECT_FALSE(files_.exists(kFolder.root / ".manifest.json.tmp.7"));
}

TEST_F(RunFolderTest, CheckpointsMakeARunWhateverBecameOfItsManifest) {
  train(files_, "old");
  const fs::path checkpoints = kFolder.root / "seed-42" / "gat" / "checkpoints";
  make_folders(checkpoints, files_);
  write_text(kFolder.manifest(), "{", files_);
  EXPECT_FALSE(holds_a_run(kFolder, files_));
  write_text(checkpoints / "step-000000000004.safetensors", "", files_);
  EXPECT_TRUE(holds_a_run(kFolder, files_));
  files_.remove_file(kFolder.manifest());
  EXPECT_TRUE(holds_a_run(kFolder, files_));
  EXPECT_THAT(checkpoints_of(kFolder, files_),
              testing::ElementsAre(checkpoints / "step-000000000004.safetensors"));
}

TEST_F(RunFolderTest, AnErrorPutsTheOldRunBackAndLeavesNothingElse) {
  train(files_, "old");
  const MemoryFiles with_old = files_;
  const Tree before = files_.tree("/place");
  for (int at = 0;; ++at) {
    files_ = with_old;
    FaultyFiles faulty(files_, {Fault::error, at, ENOSPC});
    try {
      train(faulty, "new");
      // Removes the lock of the old run, which is removed with its folder anyway.
      ASSERT_EQ(faulty.struck(), "remove_file");
    } catch (const Failure& error) {
      EXPECT_THAT(error.what(), HasSubstr("/place"));
      if (faulty.struck() == "remove_tree") break;  // The failed removal of the old run by commit().
      ASSERT_EQ(files_.tree("/place"), before) << "call " << at << ": " << faulty.struck();
    }
  }
  EXPECT_EQ(model(), "new");
}

TEST_F(RunFolderTest, AnErrorWhereNothingWasLeavesNothing) {
  FaultyFiles counting(files_);
  train(counting, "new");
  const int last = counting.calls() - 1;  // The last call removes the lock file; its failure does not matter.
  for (int at = 0; at < last; ++at) {
    files_ = MemoryFiles();
    prepare(files_);
    FaultyFiles faulty(files_, {Fault::error, at, ENOSPC});
    EXPECT_THROW(train(faulty, "new"), Failure);
    EXPECT_TRUE(is_empty_folder(files_, "/place")) << "call " << at << ": " << faulty.struck();
  }
}

TEST_F(RunFolderTest, AKillOrAPowerFailureLosesNeitherRun) {
  MemoryFiles whole;
  prepare(whole);
  train(whole, "old");
  const Tree old_run = tree(whole, "/place/run");
  const MemoryFiles before = whole;
  FaultyFiles counting(whole);
  train(counting, "new");
  const Tree new_run = tree(whole, "/place/run");
  const std::string aside = "/place/.run.old." + std::to_string(::getpid());
  const int last = counting.calls() - 1;  // The last call removes the lock file; its failure does not matter.
  for (int at = 0; at <= last; ++at) {
    for (uint32_t seed = 0; seed < 12; ++seed) {
      files_ = before;
      FaultyFiles faulty(files_, {Fault::kill, at});
      if (at < last)
        EXPECT_THROW(train(faulty, "new"), Failure);
      else
        train(faulty, "new");
      files_.lose_power(seed);
      EXPECT_TRUE(run() == new_run || run() == old_run || tree(files_, aside) == old_run)
          << "call " << at << ", seed " << seed;
    }
  }
  for (uint32_t seed = 0; seed < 12; ++seed) {
    files_ = whole;
    files_.lose_power(seed);
    EXPECT_EQ(run(), new_run) << "a finished run lasts, seed " << seed;
  }
}

TEST_F(RunFolderTest, WhatAKilledRunPutAsideIsNotInTheWay) {
  train(files_, "old");
  const std::string aside = "/place/.run.old." + std::to_string(::getpid());
  write_text(aside, "of a killed run", files_);
  train(files_, "new");
  EXPECT_EQ(model(), "new");
  EXPECT_EQ(read_text(aside, files_), "of a killed run");
}

TEST_F(RunFolderTest, AnOldRunThatCannotBeDeletedIsNamed) {
  train(files_, "old");
  MemoryFiles copy = files_;
  FaultyFiles counting(copy);
  train(counting, "new");
  FaultyFiles faulty(files_, {Fault::error, counting.calls() - 2, EACCES});
  EXPECT_THAT(error_text<Failure>([&] { train(faulty, "new"); }),
              HasSubstr("/place/run is finished, but the old run, now /place/.run.old."));
  EXPECT_EQ(model(), "new");
}

}  // namespace
}  // namespace plimsoll
