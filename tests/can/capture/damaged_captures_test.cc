#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.h"
#include "can/capture/frame_reader.h"
#include "support/made_captures.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

// Binary captures, cut off or damaged at each of their bytes: every lost frame is counted.

namespace plimsoll {
namespace {

struct Outcome {
  std::vector<uint32_t> ids;
  LineNotes notes;
  std::optional<Truncation> truncation;
  std::string error;

  auto frames() const { return static_cast<int64_t>(ids.size()); }
  // Number of records that were read or counted, including the one in which the file ends.
  int64_t accounted_records() const {
    return frames() + notes.other_records + notes.other_channels +
           (truncation && truncation->left_out > 0 ? 1 : 0);
  }
};

class DamagedCapture : public testing::TestWithParam<MadeCapture> {
 protected:
  Outcome read(const std::string& bytes, const FormatOptions& options = {}) const {
    const auto path = folder_ / GetParam().name;
    write_bytes(path, bytes);
    Outcome outcome;
    FrameBatch frames;
    try {
      auto stream = InputStream::open(path, options.refuse_truncated ? AtCut::fail : AtCut::stop);
      const auto reader = FrameReader::open(path, options, stream);
      if (!reader) throw InputError("a text");
      while (reader->read(3, frames, outcome.notes)) {
      }
      outcome.truncation = reader->truncation();
    } catch (const InputError& error) {
      outcome.error = error.what();
    }
    outcome.ids.assign(frames.can_id.begin(), frames.can_id.end());
    return outcome;
  }
  TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Formats, DamagedCapture,
                         testing::Values(made_pcap(), made_pcapng(), made_blf(), made_packed_blf(),
                                         made_mf4(0), made_mf4(4)));

// Whether these are the IDs of all frames up to the first missing one.
bool is_prefix(const std::vector<uint32_t>& ids) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] != 0x100 + i) return false;
  return true;
}

TEST_P(DamagedCapture, IsReadWhole) {
  const Outcome whole = read(GetParam().bytes);
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.frames(), kMadeFrames);
  EXPECT_TRUE(is_prefix(whole.ids));
  EXPECT_FALSE(whole.truncation);
  EXPECT_EQ(whole.notes.to_json().dump(), "{}");
}

TEST_P(DamagedCapture, CutOffAnywhereHasTheWholeFramesBefore) {
  const MadeCapture& made = GetParam();
  for (size_t end = 4; end < made.bytes.size(); ++end) {
    SCOPED_TRACE(end);
    const Outcome cut = read(made.bytes.substr(0, end));
    EXPECT_TRUE(is_prefix(cut.ids));
    if (made.records.empty() || end < made.records.front().first) {
      EXPECT_TRUE(cut.frames() == 0 || made.records.empty());
      continue;
    }
    EXPECT_EQ(cut.error, "");
    const auto whole =
        std::ranges::count_if(made.records, [&](const auto& record) { return record.second <= end; });
    EXPECT_EQ(cut.frames(), whole);
    const bool between =
        std::ranges::any_of(made.records, [&](const auto& record) { return record.first == end; });
    if (!between) {
      ASSERT_TRUE(cut.truncation);
      EXPECT_EQ(cut.truncation->at, static_cast<int64_t>(made.records[static_cast<size_t>(whole)].first));
      EXPECT_EQ(cut.truncation->at + cut.truncation->left_out, static_cast<int64_t>(end));
      const Outcome refused = read(made.bytes.substr(0, end), {.refuse_truncated = true});
      EXPECT_THAT(refused.error, testing::HasSubstr("cut off"));
    }
  }
}

// After a power failure, a file system may have zeros in place of the end of a file.
TEST_P(DamagedCapture, ZerosInPlaceOfTheEndAreNoFrames) {
  const MadeCapture& made = GetParam();
  for (const auto& record : made.records) {
    SCOPED_TRACE(record.first);
    const Outcome cut = read(made.bytes.substr(0, record.first) + std::string(4096, '\0'));
    if (cut.error.empty()) {
      EXPECT_TRUE(is_prefix(cut.ids));
      EXPECT_GE(cut.notes.stray_bytes + (cut.truncation ? cut.truncation->left_out : 0), 4096 - 3);
    } else {
      EXPECT_EQ(made.name, "made.mf4");  // This file is marked as finalised.
    }
  }
}

TEST_P(DamagedCapture, WithoutARecordHasTheOthers) {
  const MadeCapture& made = GetParam();
  for (const auto& [begin, end] : made.records) {
    SCOPED_TRACE(begin);
    std::string bytes = made.bytes;
    const Outcome others = read(bytes.erase(begin, end - begin));
    EXPECT_EQ(others.error, "");
    EXPECT_EQ(others.frames(), kMadeFrames - 1);
  }
}

TEST_P(DamagedCapture, LosesNoRecordWithoutACount) {
  const MadeCapture& made = GetParam();
  const size_t begin = made.records.empty() ? 144 : made.records.front().first;
  for (size_t at = begin; at < made.bytes.size(); ++at)
    for (const int change : {0x01, 0x10, 0xFF, 256}) {
      std::string bytes = made.bytes;
      bytes[at] = static_cast<char>(change == 256 ? 0 : bytes[at] ^ change);
      if (bytes[at] == made.bytes[at]) continue;
      const Outcome damaged = read(bytes);
      if (!damaged.error.empty()) continue;
      EXPECT_TRUE(damaged.accounted_records() >= kMadeFrames || damaged.notes.stray_bytes > 0)
          << "byte " << at << " changed by " << change << ": " << damaged.frames() << " frames, "
          << damaged.notes.to_json().dump() << (damaged.truncation ? ", cut off" : "");
      EXPECT_LE(damaged.frames(), kMadeFrames) << "byte " << at << " changed by " << change;
    }
}

}  // namespace
}  // namespace plimsoll
