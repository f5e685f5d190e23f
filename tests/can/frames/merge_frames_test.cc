#include "can/frames/merge_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "can/frames/made_up_frames.h"
#include "io/file.h"
#include "store/shard.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class MergeFrames : public testing::Test {
 protected:
  static Json provenance(const std::vector<std::string>& sources, const Shard& shard,
                         const std::string& all = "a") {
    Json list = Json::array();
    for (const std::string& source : sources) list.push_back({{"source", source}});
    Json options = {{"format", "made up"}};
    if (!shard.is_all()) options["shard"] = shard.to_json(all);
    return make_provenance(list, options);
  }
  // Writes recordings with these numbers of frames. The third one is a copy of the first.
  fs::path write_frames(const std::string& name, size_t first, size_t end, const Shard& shard,
                        const std::string& all = "a") const {
    const std::vector<std::pair<std::string, int64_t>> recordings = {
        {"a", 600}, {"b", 300}, {"c", 600}, {"d", 1}};
    FramesWriter writer(folder_ / name, true);
    std::vector<std::string> sources;
    for (size_t i = first; i < end; ++i) {
      const auto& [recorded, frames] = recordings[i];
      writer.append(made_up_frames(frames, static_cast<uint64_t>(frames)).spans());
      Recording recording;
      recording.name = recorded;
      recording.split = "train";
      writer.end_recording(recording);
      sources.push_back(recorded);
    }
    writer.publish(provenance(sources, shard, all));
    return folder_ / name;
  }
  static void expect_same_bytes(const fs::path& a, const fs::path& b) {
    for (const auto& entry : fs::directory_iterator(a))
      EXPECT_EQ(read_text(entry.path()), read_text(b / entry.path().filename())) << entry.path();
  }

  TempFolder folder_;
};

TEST_F(MergeFrames, AreThoseOfOneProcess) {
  const fs::path whole = write_frames("whole", 0, 4, {});
  const std::vector<fs::path> shards = {write_frames("two", 1, 3, {2, 4}), write_frames("one", 0, 1, {1, 4}),
                                        write_frames("four", 3, 4, {4, 4}),
                                        write_frames("three", 3, 3, {3, 4})};
  const Merged merged = merge_shards({.shards = shards, .out = folder_ / "merged"});
  EXPECT_EQ(merged.rows, 1501);
  expect_same_bytes(whole, folder_ / "merged");
  EXPECT_EQ(FramesView(whole).recordings()[2].copy_of, "train/a");
  EXPECT_TRUE(merge_shards({.shards = shards, .out = folder_ / "merged"}).already_there);
}

TEST_F(MergeFrames, NamesWhatIsMissingForeignOrDamaged) {
  const fs::path one = write_frames("one", 0, 2, {1, 3}), two = write_frames("two", 2, 3, {2, 3}),
                 three = write_frames("three", 3, 4, {3, 3});
  const auto error = [&](std::vector<fs::path> shards) {
    return error_text<InputError>(
        [&] { merge_shards({.shards = std::move(shards), .out = folder_ / "merged"}); });
  };
  EXPECT_THAT(error({one, three}), HasSubstr("shard 2/3 is missing; make it with --shard 2/3"));
  EXPECT_THAT(error({one, two, two, three}), HasSubstr("are both shard 2/3"));
  const fs::path foreign = write_frames("foreign", 2, 3, {2, 3}, "b");
  EXPECT_THAT(error({one, foreign, three}),
              HasSubstr(foreign.string() + " is not a shard of the set of " + one.string()));
  const fs::path other_count = write_frames("count", 2, 3, {2, 4});
  EXPECT_THAT(error({one, other_count, three}), HasSubstr("its 'of' is 4, expected 3"));
  const fs::path whole = write_frames("whole", 0, 4, {});
  EXPECT_THAT(error({whole}), HasSubstr("is not a shard of a data set"));
  {
    std::fstream file(two / "label.npy", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x55');
  }
  EXPECT_THAT(error({one, two, three}), HasSubstr((two.string() + ": column 'label' has the checksum")));
  EXPECT_FALSE(fs::exists(folder_ / "merged"));
}

TEST_F(MergeFrames, LeavesWhatHasTheName) {
  const std::vector<fs::path> shards = {write_frames("one", 0, 2, {1, 2}), write_frames("two", 2, 4, {2, 2})};
  write_frames("merged", 0, 1, {});
  EXPECT_THAT(error_text<Failure>([&] { merge_shards({.shards = shards, .out = folder_ / "merged"}); }),
              HasSubstr("give --force"));
  EXPECT_EQ(merge_shards({.shards = shards, .out = folder_ / "merged", .force = true}).rows, 1501);
}

}  // namespace
}  // namespace plimsoll
