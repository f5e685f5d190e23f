#include "can/frames/verify_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "can/frames/made_up_frames.h"
#include "support/errors.h"
#include "support/verified_set.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class VerifyFrames : public Verify {
 protected:
  void SetUp() override { write_made_up_frames(folder_); }
};

TEST_F(VerifyFrames, AWholeSetHasNoFindings) {
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(VerifyFrames, AChangedBitIsFoundInEveryColumn) {
  expect_every_column_guarded();
}

TEST_F(VerifyFrames, AMissingChecksumIsFound) {
  Json manifest = read_manifest(folder_);
  manifest["columns"]["label"].erase("xxh3");
  write_bytes(folder_ / "manifest.json", manifest.dump());
  expect_finding("column 'label'");
}

TEST_F(VerifyFrames, ALabelThatIsNoLabelIsFound) {
  set<uint8_t>("label", 7, 2);
  expect_finding("frame 7: label 2");
}

TEST_F(VerifyFrames, UnlabelledFramesAreFine) {
  set<uint8_t>("label", 7, kUnlabelled);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(VerifyFrames, ALengthOverThePayloadIsFound) {
  set<uint8_t>("length", 99, 9);
  expect_finding("frame 99: length 9");
}

TEST_F(VerifyFrames, BytesBehindTheLengthAreFound) {
  set<uint8_t>("length", 20, 3);
  set<uint8_t>("data", 20 * 8 + 2, 1);
  for (size_t byte = 3; byte < 8; ++byte) set<uint8_t>("data", 20 * 8 + byte, 0);
  EXPECT_THAT(findings(), IsEmpty());
  set<uint8_t>("data", 20 * 8 + 3, 1);
  expect_finding("frame 20: bytes after its length of 3");
}

TEST_F(VerifyFrames, AnIdThatIsTooLongForItsFlagIsFound) {
  set<uint32_t>("can_id", 5, 0x7FF | kCanRemote);
  EXPECT_THAT(findings(), IsEmpty());
  set<uint32_t>("can_id", 5, 0x800);
  expect_finding("frame 5: ID 800");
  set<uint32_t>("can_id", 5, 0x800 | kCanExtended);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(VerifyFrames, AnErrorFrameHasItsClassesForAnId) {
  set<uint32_t>("can_id", 1, kCanError | 0x1000);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(VerifyFrames, AWrongCountOfAttackFramesIsFound) {
  ASSERT_EQ(get<uint8_t>("label", 60), 0);
  set<uint8_t>("label", 60, 1);
  expect_finding("recording train/second");
}

TEST_F(VerifyFrames, ManyFindingsAreCutShort) {
  for (size_t i = 0; i < 100; ++i) set<uint8_t>("label", i, 9);
  EXPECT_LT(findings().size(), 30U);
}

TEST_F(VerifyFrames, TheFirstFindingIsAnErrorForWhoReadsThemAll) {
  require_sound(FramesView(folder_));
  set<uint8_t>("label", 70, 9);
  set<uint8_t>("length", 60, 9);
  const std::string error = error_text<InputError>([&] { require_sound(FramesView(folder_)); });
  EXPECT_THAT(error, HasSubstr(folder_.string() + ": frame 60: length 9"));
  set<uint8_t>("length", 60, 8);
  set<uint8_t>("label", 70, 1);
  EXPECT_THAT(error_text<InputError>([&] { require_sound(FramesView(folder_)); }),
              HasSubstr("recording train/second"));
}

}  // namespace
}  // namespace plimsoll
