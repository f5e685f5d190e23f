#include "can/frames/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "can/frames/made_up_frames.h"
#include "store/verify.h"
#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

Recording named(const std::string& name) {
  Recording recording;
  recording.name = name;
  recording.split = "train";
  return recording;
}

class Frames : public testing::Test {
 protected:
  TempFolder parent_;
  std::filesystem::path folder_ = parent_ / "frames";
};

TEST_F(Frames, AreReadBackAsWritten) {
  const FrameColumns first = made_up_frames(300, 1);
  const FrameColumns second = made_up_frames(50, 2);
  Recording described = named("flood-1");
  described.source = "can/train/flood-1.csv";
  described.bytes = 12345;
  described.hash = "0123456789abcdef";
  described.channel = "can0";
  described.has_time = false;
  described.has_payload = false;
  described.labelled = false;
  described.attack = "flood";
  described.traps = {{"odd_payload", 2}};
  {
    FramesWriter writer(folder_, false);
    writer.append(first.spans());
    writer.end_recording(described);
    writer.append(second.spans());
    writer.end_recording(named("benign"));
    writer.publish(make_provenance("made up", {}));
  }
  const FramesView view(folder_);
  const FrameSpans frames = view.frames();
  EXPECT_EQ(frames.size(), 350);
  EXPECT_THAT(frames.part(0, 300).time_ns, ElementsAreArray(first.time_ns));
  EXPECT_THAT(frames.part(300, 50).time_ns, ElementsAreArray(second.time_ns));
  EXPECT_THAT(frames.part(300, 50).can_id, ElementsAreArray(second.can_id));
  EXPECT_THAT(frames.part(300, 50).length, ElementsAreArray(second.length));
  EXPECT_THAT(frames.part(300, 50).data, ElementsAreArray(second.data));
  EXPECT_THAT(frames.part(300, 50).label, ElementsAreArray(second.label));

  ASSERT_EQ(view.recordings().size(), 2U);
  const Recording& flood = view.recordings()[0];
  Recording expected = described;
  expected.frames = 300;
  expected.attack_frames = std::count(first.label.begin(), first.label.end(), 1);
  expected.content = flood.content;
  EXPECT_EQ(flood.to_json(), expected.to_json());
  EXPECT_GT(flood.attack_frames, 0);
  EXPECT_EQ(flood.content.size(), 32U);
  EXPECT_EQ(view.recordings()[1].first_frame, 300);
  EXPECT_EQ(view.recordings()[1].frames, 50);
  EXPECT_EQ(view.recordings()[1].path(), "train/benign");
}

TEST_F(Frames, CopiesAreFoundByContentAndNameTheFirst) {
  const FrameColumns content = made_up_frames(100, 1);
  FramesWriter writer(folder_, false);
  for (const char* name : {"a", "b", "c"}) {
    writer.append(content.spans());
    writer.end_recording(named(name));
  }
  EXPECT_FALSE(writer.recordings()[0].copy_of);
  EXPECT_EQ(writer.recordings()[1].copy_of, "train/a");
  EXPECT_EQ(writer.recordings()[2].copy_of, "train/a");
}

TEST_F(Frames, RecordingsThatDifferInOneValueAreNoCopies) {
  const FrameColumns original = made_up_frames(100, 1);
  std::vector<FrameColumns> changed(6, original);
  changed[0].time_ns[50] += 1;
  changed[1].can_id[50] ^= 1;
  changed[2].data[50 * 8] ^= 1;
  changed[3].length[50] ^= 1;
  changed[4].label[50] ^= 1;
  changed[5] = made_up_frames(99, 1);  // The first 99 of its frames.
  FramesWriter writer(folder_, false);
  writer.append(original.spans());
  writer.end_recording(named("original"));
  for (const FrameColumns& columns : changed) {
    writer.append(columns.spans());
    EXPECT_FALSE(writer.end_recording(named("changed")).copy_of);
  }
}

Recording merged(const std::string& name, std::vector<std::string> channels) {
  Recording recording = named(name);
  recording.channels = std::move(channels);
  return recording;
}

FrameColumns made_up_merged(int64_t count) {
  FrameColumns columns = made_up_frames(count, 1);
  for (int64_t i = 0; i < count; ++i) columns.channel.push_back(static_cast<uint8_t>(i % 3));
  return columns;
}

TEST_F(Frames, MergedChannelsAreAColumnAndNamesOfTheRecording) {
  const FrameColumns columns = made_up_merged(300);
  {
    FramesWriter writer(folder_, false);
    for (const int64_t first : {0, 100, 200}) writer.append(columns.spans().part(first, 100));
    writer.end_recording(merged("a", {"can0", "can1", "lin"}));
    writer.publish({});
  }
  const FramesView view(folder_);
  EXPECT_THAT(view.frames().channel, ElementsAreArray(columns.channel));
  EXPECT_THAT(view.recordings()[0].channels, testing::ElementsAre("can0", "can1", "lin"));
  EXPECT_FALSE(view.recordings()[0].channel);
  EXPECT_EQ(view.set().manifest()["format_version"], 2) << "a reader of version 1 would not see the column";
  EXPECT_EQ(view.frames().key(4), uint64_t{1} << 32 | columns.can_id[4]);
  EXPECT_THAT(verify_data_set(folder_), IsEmpty());
}

TEST_F(Frames, MergedRecordingsThatDifferInAChannelOrItsNameAreNoCopies) {
  const FrameColumns columns = made_up_merged(100);
  FrameColumns another = columns;
  another.channel[7] = 0;
  FramesWriter writer(folder_, false);
  const auto is_copy = [&](const FrameColumns& frames, const Recording& recording) {
    writer.append(frames.spans());
    return writer.end_recording(recording).copy_of.has_value();
  };
  EXPECT_FALSE(is_copy(columns, merged("a", {"x", "y", "z"})));
  EXPECT_TRUE(is_copy(columns, merged("b", {"x", "y", "z"})));
  EXPECT_FALSE(is_copy(another, merged("c", {"x", "y", "z"})));
  EXPECT_FALSE(is_copy(columns, merged("d", {"x", "y", "w"})));
}

TEST_F(Frames, ASetHasChannelsMergedInAllRecordingsOrInNone) {
  const FrameColumns with = made_up_merged(10);
  const FrameColumns without = made_up_frames(10, 1);
  for (const auto& [first, second] : {std::pair{&with, &without}, std::pair{&without, &with}}) {
    FramesWriter writer(folder_, true);
    writer.append(first->spans());
    EXPECT_THAT(error_text<InputError>([&, columns = second] { writer.append(columns->spans()); }),
                HasSubstr("merged"));
  }
}

TEST_F(Frames, ChannelsThatAreNotThoseOfTheTableAreRefusedOrFound) {
  {
    FramesWriter writer(folder_, false);
    writer.append(made_up_merged(10).spans());
    writer.end_recording(merged("a", {"x", "y", "z"}));
    writer.publish({});
  }
  const Json good = read_manifest(folder_);
  const auto write_channels = [&](const Json& channels) {
    Json manifest = good;
    manifest["recordings"][0]["channels"] = channels;
    write_bytes(folder_ / "manifest.json", manifest.dump());
  };
  for (const Json& channels :
       {Json::array(), Json("x"), Json::array({1, 2, 3}), Json(std::vector<std::string>(65, "x"))}) {
    write_channels(channels);
    EXPECT_THAT(error_text<InputError>([&] { FramesView view(folder_); }), HasSubstr(folder_.string()));
  }
  write_channels({"x", "y"});
  EXPECT_THAT(verify_data_set(folder_), testing::Contains(HasSubstr("frame 2: channel 2")));
  Json manifest = good;
  manifest["columns"].erase("channel");
  write_bytes(folder_ / "manifest.json", manifest.dump());
  EXPECT_THAT(error_text<InputError>([&] { FramesView view(folder_); }), HasSubstr("names 3 channels"));
}

TEST_F(Frames, RecordingsWithoutFramesAreNoCopies) {
  FramesWriter writer(folder_, false);
  writer.end_recording(named("a"));
  EXPECT_FALSE(writer.end_recording(named("b")).copy_of);
  writer.publish({});
  EXPECT_EQ(FramesView(folder_).recordings().size(), 2U);
}

TEST_F(Frames, ThePiecesInWhichFramesAreAppendedDoNotShow) {
  const FrameColumns columns = made_up_frames(1000, 1);
  const auto content_in = [&](const std::vector<int64_t>& pieces) {
    FramesWriter writer(folder_, true);
    int64_t at = 0;
    for (size_t turn = 0; at < 1000; ++turn) {
      const int64_t count = std::min(pieces[turn % pieces.size()], 1000 - at);
      writer.append(columns.spans().part(at, count));
      at += count;
    }
    writer.end_recording(named("a"));
    writer.publish({});
    // The manifest has the checksums of the columns and the content.
    return read_bytes(folder_ / "manifest.json");
  };
  const std::string whole = content_in({1000});
  EXPECT_EQ(content_in({1}), whole);
  EXPECT_EQ(content_in({127, 1, 129}), whole);
  EXPECT_EQ(content_in({128}), whole);
  EXPECT_EQ(content_in({0, 999}), whole);
}

TEST_F(Frames, AreTheOldOnesOrTheNewWhateverFails) {
  constexpr int64_t kOverABuffer = 33'000;  // Number of frames whose payloads exceed a buffer.
  const FrameColumns columns = made_up_frames(kOverABuffer, 1);
  const auto write = [&](int64_t count) {
    return [&columns, count](FileSystem& files) {
      FramesWriter writer("/place/frames", true, kPayloadBytes, files);
      writer.append(columns.spans().part(0, count));
      writer.end_recording(named("a"));
      writer.publish(make_provenance("made up", count));
    };
  };
  FaultTrials trials("/place/frames", write(100), write(kOverABuffer));
  trials.run();
  trials.export_to(folder_);
  EXPECT_THAT(verify_data_set(folder_), IsEmpty());
}

TEST_F(Frames, TheIdentityIsThatOfColumnsAndRecordings) {
  write_made_up_frames(folder_);
  const Json identity = FramesView(folder_).identity();
  EXPECT_EQ(identity["columns"]["label"], read_manifest(folder_)["columns"]["label"]["xxh3"]);
  write_made_up_frames(folder_);
  EXPECT_EQ(FramesView(folder_).identity(), identity);
  const auto change = [&](const std::function<void(Json&)>& damage) {
    Json manifest = read_manifest(folder_);
    damage(manifest);
    write_bytes(folder_ / "manifest.json", manifest.dump());
    EXPECT_NE(FramesView(folder_).identity(), identity);
  };
  change([](Json& manifest) { manifest["recordings"][0]["name"] = "another"; });
  change([](Json& manifest) { manifest["columns"]["label"].erase("xxh3"); });
}

TEST_F(Frames, ADamagedTableOfRecordingsIsRefused) {
  write_made_up_frames(folder_);
  const Json good = read_manifest(folder_);
  const auto expect_refused = [&](const std::function<void(Json&)>& damage) {
    Json manifest = good;
    damage(manifest["recordings"]);
    write_bytes(folder_ / "manifest.json", manifest.dump());
    EXPECT_THAT(error_text<InputError>([&] { FramesView view(folder_); }), HasSubstr(folder_.string()))
        << manifest["recordings"].dump();
  };
  for (const Json& table : {Json(), Json::object(), Json("?"), Json::array({1}), Json::array({Json()})})
    expect_refused([&](Json& recordings) { recordings = table; });
  expect_refused([](Json& recordings) { recordings.erase(1); });
  expect_refused([](Json& recordings) { std::swap(recordings[0], recordings[1]); });
  for (const auto& [key, value] : good["recordings"][0].items())
    expect_refused([&, name = key](Json& recordings) { recordings[0].erase(name); });
  for (const char* key : {"name", "split", "hash", "frames", "first_frame", "has_time", "attack", "copy_of"})
    expect_refused([&](Json& recordings) { recordings[0][key] = Json::array(); });
  for (const int64_t frames : {int64_t{-1}, int64_t{0}, int64_t{61}, int64_t{101}, INT64_MAX, INT64_MIN})
    expect_refused([&](Json& recordings) { recordings[0]["frames"] = frames; });
  for (const int64_t first : {int64_t{-1}, int64_t{1}, int64_t{59}, INT64_MAX})
    expect_refused([&](Json& recordings) { recordings[1]["first_frame"] = first; });
}

TEST_F(Frames, ColumnsOfDifferentLengthAreRefused) {
  {
    DataSetWriter writer(folder_, false);
    const FrameColumns columns = made_up_frames(10, 1);
    writer.column<int64_t>("time_ns").append(columns.spans().time_ns);
    writer.column<uint32_t>("can_id").append(columns.spans().can_id);
    writer.column<uint8_t>("length").append(columns.spans().length);
    writer.column<uint8_t>("data", {8}).append(columns.spans().part(0, 9).data);
    writer.column<uint8_t>("label").append(columns.spans().label);
    writer.publish({{"kind", "frames"}, {"recordings", Json::array()}});
  }
  EXPECT_THAT(error_text<InputError>([&] { FramesView view(folder_); }), HasSubstr("differ in length"));
}

}  // namespace
}  // namespace plimsoll
