#include "can/profile/vocabulary.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

TEST(Vocabulary, IndexesKnownIdsInOrderAndAllOthersAsOne) {
  const Vocabulary vocabulary({{0x10, 0x7FF, 0x800 | kCanExtended}});
  EXPECT_EQ(vocabulary.index(0x10), 0);
  EXPECT_EQ(vocabulary.index(0x7FF), 1);
  EXPECT_EQ(vocabulary.index(0x800 | kCanExtended), 2);
  for (const uint32_t unknown : {0U, 0x11U, 0x7FEU, 0x10U | kCanExtended, 0xFFFFFFFFU})
    EXPECT_EQ(vocabulary.index(unknown), 3) << unknown;
}

// A recording with two channels, one of which has another number in the vocabulary.
TEST(Vocabulary, TellsMessagesOfChannelsApartByName) {
  const Vocabulary vocabulary(
      {{0x10, uint64_t{1} << 32 | 0x10, uint64_t{1} << 32 | kCanExtended | 5}, {"body", "power"}});
  Recording recording;
  recording.channels = {"power", "other"};
  const std::vector<uint32_t> ids = {0x10, kCanExtended | 5, 0x10, 0x11};
  const std::vector<uint8_t> channel = {0, 0, 1, 0};
  FrameSpans frames;
  frames.can_id = ids;
  frames.channel = channel;
  const FrameKeys keys = vocabulary.keys(frames, recording);
  EXPECT_EQ(vocabulary.index(keys[0]), 1);
  EXPECT_EQ(vocabulary.index(keys[1]), 2);
  EXPECT_EQ(vocabulary.index(keys[2]), 3) << "0x10 of a channel that is not known is another message";
  EXPECT_EQ(vocabulary.index(keys[3]), 3);
  const auto name = [&](size_t f) {
    return channel_of(keys[f], vocabulary.ids().channels, recording.channels);
  };
  EXPECT_EQ(name(0), "power");
  EXPECT_EQ(name(2), "other");
  EXPECT_EQ(channel_of(uint64_t{7} << 32, {}, {}), "");
  EXPECT_EQ(channel_of(uint64_t{7} << 32, {"a"}, {}), "?") << "of a damaged file";
}

TEST(Vocabulary, OfAModelHasNoChannelsWithoutNames) {
  const std::vector<int64_t> keys = {0x10, int64_t{1} << 32 | 0x10};
  const NamedTensors tensors = {{"ids", own_tensor<int64_t>(keys, {2})}};
  EXPECT_EQ(Vocabulary::from_tensor(tensors, "ids", {"a", "b"}).size(), 2);
  EXPECT_THROW(Vocabulary::from_tensor(tensors, "ids", {"a"}), InputError);
  EXPECT_THROW(Vocabulary::from_tensor(tensors, "ids", {}), InputError);
}

TEST(Vocabulary, AColumnOfADamagedSetReachesNoFurtherThanTheChannelsThereMayBe) {
  Recording recording;
  recording.channels = {"a"};
  const std::vector<uint32_t> ids = {0x10};
  const std::vector<uint8_t> channel = {255};
  FrameSpans frames;
  frames.can_id = ids;
  frames.channel = channel;
  EXPECT_EQ(Vocabulary({{0x10}, {"a"}}).index(FrameKeys(frames, recording, {"a"})[0]), 1);
}

TEST(TrainingIds, AreInTheLedgerWhileTheyAreGathered) {
  const TempFolder parent;
  constexpr uint32_t kIds = 20000;
  {
    std::vector<uint32_t> ids(kIds);
    for (uint32_t i = 0; i < kIds; ++i) ids[i] = kCanExtended | (i + 0x1000);
    const std::vector<int64_t> times(kIds, 0);
    const std::vector<uint8_t> zeros(kIds * kPayloadBytes, 0);
    const std::span<const uint8_t> bytes = std::span(zeros).first(kIds);
    FramesWriter writer(parent / "frames", false);
    writer.append({times, ids, bytes, zeros, bytes});
    Recording recording;
    recording.split = "train";
    writer.end_recording(recording);
    writer.publish({});
  }
  const FramesView frames(parent / "frames");
  EXPECT_EQ(training_ids(frames, true, {}).size(), kIds);
  const LedgerCap cap(kIds);
  error_text<BudgetExceeded>([&] { training_ids(frames, true, {}); });
}

}  // namespace
}  // namespace plimsoll
