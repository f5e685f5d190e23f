#include "cli/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "io/file.h"
#include "support/errors.h"
#include "support/faulty_files.h"
#include "support/memory_files.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using Tree = std::map<std::string, std::string>;

const RunFolder kFolder{"/place/run"};

// A run as `train` makes it; `text` tells one from another.
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
  Tree run() { return files_.tree("/place/run"); }
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

TEST_F(RunFolderTest, AnEmptyFolderIsTakenAndOneThatHoldsNoRunIsNot) {
  make_folders("/place/run", files_);
  train(files_, "new", false);
  EXPECT_EQ(model(), "new");
  for (const char* manifest : {"", "{", "[]", "{\"kind\": \"frames\"}", "{\"kind\": 7}"}) {
    write_text(kFolder.manifest(), manifest, files_);
    EXPECT_THAT(error_text<Failure>([&] { train(files_, "newer"); }), HasSubstr("no run")) << manifest;
  }
  files_.remove_tree("/place/run");
  write_text("/place/run", "a file", files_);
  EXPECT_THAT(error_text<Failure>([&] { train(files_, "newer"); }), HasSubstr("no run"));
  EXPECT_EQ(read_text("/place/run", files_), "a file");
}

TEST_F(RunFolderTest, AnErrorPutsTheOldRunBackAndLeavesNothingElse) {
  train(files_, "old");
  const Tree before = files_.tree("/place");
  for (int at = 0;; ++at) {
    FaultyFiles faulty(files_, {Fault::error, at, ENOSPC});
    try {
      train(faulty, "new");
      ASSERT_EQ(faulty.struck(), "read");  // the end of reading the old manifest, in the worst case
    } catch (const Failure& error) {
      EXPECT_THAT(error.what(), HasSubstr("/place"));
      if (faulty.struck() == "remove_tree") break;  // of the old run, by commit()
      ASSERT_EQ(files_.tree("/place"), before) << "call " << at << ": " << faulty.struck();
    }
  }
  EXPECT_EQ(model(), "new");
}

TEST_F(RunFolderTest, AnErrorWhereNothingWasLeavesNothing) {
  FaultyFiles counting(files_);
  train(counting, "new");
  for (int at = 0; at < counting.calls(); ++at) {
    files_ = MemoryFiles();
    prepare(files_);
    FaultyFiles faulty(files_, {Fault::error, at, ENOSPC});
    EXPECT_THROW(train(faulty, "new"), Failure);
    EXPECT_TRUE(files_.is_empty_folder("/place")) << "call " << at << ": " << faulty.struck();
  }
}

TEST_F(RunFolderTest, AKillOrAPowerFailureLosesNeitherRun) {
  MemoryFiles whole;
  prepare(whole);
  train(whole, "old");
  const Tree old_run = whole.tree("/place/run");
  const MemoryFiles before = whole;
  FaultyFiles counting(whole);
  train(counting, "new");
  const Tree new_run = whole.tree("/place/run");
  const std::string aside = "/place/.run.old." + std::to_string(::getpid());
  for (int at = 0; at < counting.calls(); ++at) {
    for (uint32_t seed = 0; seed < 12; ++seed) {
      files_ = before;
      FaultyFiles faulty(files_, {Fault::kill, at});
      EXPECT_THROW(train(faulty, "new"), Failure);
      files_.lose_power(seed);
      EXPECT_TRUE(run() == new_run || run() == old_run || files_.tree(aside) == old_run)
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
  FaultyFiles faulty(files_, {Fault::error, counting.calls() - 1, EACCES});
  EXPECT_THAT(error_text<Failure>([&] { train(faulty, "new"); }),
              HasSubstr("/place/run is finished, but the old run, now /place/.run.old."));
  EXPECT_EQ(model(), "new");
}

}  // namespace
}  // namespace plimsoll
