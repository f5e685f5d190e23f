#include "can/capture/sources.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "store/split_name.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {
namespace fs = std::filesystem;

class Sources : public ::testing::Test {
 protected:
  void touch(const std::string& name) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << "x";
  }
  TempFolder root_;
  Charge charge_{Tag::ingest};
};

TEST_F(Sources, FoldersBecomeSplitsInOrderOfSplitAndName) {
  touch("set/train_01/b-1.csv");
  touch("set/train_01/a-1.csv.zst");
  touch("set/test_01/DoS-kia.csv.gz");
  touch("set/README.md");
  const auto captures = find_captures({root_ / "set"}, charge_);
  ASSERT_EQ(captures.size(), 3);
  EXPECT_EQ(captures[0].split, "test_01");
  EXPECT_EQ(captures[0].name, "DoS-kia");
  EXPECT_EQ(captures[0].source, "test_01/DoS-kia.csv.gz");
  EXPECT_EQ(captures[1].name, "a-1");
  EXPECT_EQ(captures[2].name, "b-1");
}

TEST_F(Sources, NamesInCapitalsAreTheSameAsInLowerCase) {
  touch("LOG/17BD1DB7/00000170.MF4");
  touch("LOG/17BD1DB7/DRIVE.LOG.GZ");
  touch("LOG/17BD1DB7/Drive2.Asc.Zst");
  touch("LOG/README.MD");
  const auto captures = find_captures({root_ / "LOG"}, charge_);
  ASSERT_EQ(captures.size(), 3);
  EXPECT_EQ(captures[0].name, "00000170");
  EXPECT_EQ(captures[1].name, "DRIVE");
  EXPECT_EQ(captures[2].name, "Drive2");
  EXPECT_TRUE(is_capture("X.SQLITE"));
  EXPECT_FALSE(is_capture("X.GZ"));
}

TEST_F(Sources, FoldersOfALoggerAllTrainWhereThatIsAsked) {
  touch("LOG/17BD1DB7/00000001/00000001-5EAA0000.MF4");
  touch("LOG/17BD1DB7/00000002/00000001-5EAA0000.MF4");
  touch("LOG/first.mf4");
  const auto captures = find_captures({root_ / "LOG"}, charge_, "train");
  ASSERT_EQ(captures.size(), 3);
  for (const CaptureFile& capture : captures) EXPECT_EQ(capture.split, "train");
  EXPECT_EQ(captures[0].name, "17BD1DB7_00000001_00000001-5EAA0000");
  EXPECT_EQ(captures[1].name, "17BD1DB7_00000002_00000001-5EAA0000");
  EXPECT_EQ(captures[2].name, "first");
  EXPECT_EQ(captures[0].source, "17BD1DB7/00000001/00000001-5EAA0000.MF4");

  touch("LOG/train_02/second.mf4");
  EXPECT_EQ(find_captures({root_ / "LOG"}, charge_, "train")[0].split, "17BD1DB7/00000001");
}

TEST_F(Sources, AFileByItselfTakesItsFoldersNameAsSplit) {
  touch("train_x/one-1.csv");
  const auto captures = find_captures({root_ / "train_x" / "one-1.csv"}, charge_);
  ASSERT_EQ(captures.size(), 1);
  EXPECT_EQ(captures[0].split, "train_x");
  EXPECT_EQ(captures[0].source, "one-1.csv");
}

TEST_F(Sources, WhatCannotBeIngestedIsAnInputError) {
  EXPECT_THROW(find_captures({root_ / "absent"}, charge_), InputError);
  touch("empty/README.md");
  EXPECT_THROW(find_captures({root_ / "empty"}, charge_), InputError);
  EXPECT_THROW(find_captures({root_ / "empty" / "README.md"}, charge_), InputError);
  touch("twice/s/a.csv");
  touch("twice/s/a.csv.zst");
  EXPECT_THROW(find_captures({root_ / "twice"}, charge_), InputError);
}

TEST_F(Sources, LinksAreFollowedOnceAndLoopsEnd) {
  touch("set/train/a-1.csv");
  touch("elsewhere/b-1.csv");
  touch("elsewhere/deep/c-1.csv");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "set" / "other");
  fs::create_directory_symlink(root_ / "set", root_ / "set" / "train" / "again");
  fs::create_symlink("itself", root_ / "set" / "itself");
  fs::create_symlink("nowhere.csv", root_ / "set" / "gone.csv");
  const auto captures = find_captures({root_ / "set"}, charge_);
  ASSERT_EQ(captures.size(), 3);
  EXPECT_EQ(captures[0].source, "other/b-1.csv");
  EXPECT_EQ(captures[1].source, "other/deep/c-1.csv");
  EXPECT_EQ(captures[2].source, "train/a-1.csv");
}

TEST(AttackFromName, IsWhatStandsBeforeTheLastDash) {
  EXPECT_EQ(attack_from_name("DoS-kia"), "DoS");
  EXPECT_EQ(attack_from_name("rpm-accessory-2"), "rpm-accessory");
  EXPECT_EQ(attack_from_name("targeted_payload_fuzzing-2"), "targeted_payload_fuzzing");
  EXPECT_EQ(attack_from_name("capture"), std::nullopt);
  EXPECT_EQ(attack_from_name("attack-free-kia"), std::nullopt);
  EXPECT_EQ(attack_from_name("accessory-1"), std::nullopt);
  EXPECT_EQ(attack_from_name("Normal_run"), std::nullopt);
}

TEST(IsTrainingSplit, LooksAtTheLastFolder) {
  EXPECT_TRUE(is_training_split("train_01_attack_free"));
  EXPECT_TRUE(is_training_split("hcrl_sa/train_02"));
  EXPECT_FALSE(is_training_split("test_01"));
  EXPECT_FALSE(is_training_split("train/test_01"));
}

}  // namespace
}  // namespace plimsoll
