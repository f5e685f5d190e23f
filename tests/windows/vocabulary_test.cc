#include "windows/vocabulary.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

TEST(Vocabulary, IndexesKnownIdsInOrderAndAllOthersAsOne) {
  const Vocabulary vocabulary({0x10, 0x7FF, 0x800 | kCanExtended});
  EXPECT_EQ(vocabulary.index(0x10), 0);
  EXPECT_EQ(vocabulary.index(0x7FF), 1);
  EXPECT_EQ(vocabulary.index(0x800 | kCanExtended), 2);
  for (const uint32_t unknown : {0U, 0x11U, 0x7FEU, 0x10U | kCanExtended, 0xFFFFFFFFU})
    EXPECT_EQ(vocabulary.index(unknown), 3) << unknown;
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
