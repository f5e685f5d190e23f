#include "can/simulate/inject.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"
#include "can/simulate/simulate.h"
#include "io/file.h"
#include "store/verify.h"
#include "support/errors.h"
#include "support/made_frames.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

const std::vector<AttackKind> kSix = parse_attacks("DoS,fuzzing,spoofing,replay,suppression,masquerade");
const std::vector<AttackKind> kAll =
    parse_attacks("DoS,fuzzing,spoofing,replay,suppression,masquerade,injection,flooding");

class Inject : public ::testing::Test {
 protected:
  void make(const std::string& out, int64_t frames, const std::vector<AttackKind>& attacks) const {
    simulate_can({.out = folder_ / out, .frames = frames, .attacks = attacks}, [](int64_t, int64_t) {});
  }
  static SimulateResult run(const InjectOptions& options) {
    return inject_attacks(options, [](int64_t, int64_t) {});
  }
  Json options_of(const std::string& set) const {
    return FramesView(folder_ / set).set().manifest()["provenance"]["options"];
  }
  // Makes three IDs: 100 every 10 ms; 200 in gaps of 1 to 256 ms; and 300 in such gaps, but three times as
  // often. Without the first, nothing is periodic.
  void make_uneven(const std::string& out, std::vector<bool> with_periodic) const {
    FramesWriter writer(folder_ / out, false);
    int number = 0;
    for (const bool periodic : with_periodic) {
      std::vector<CanFrame> frames;
      for (int64_t i = 0; periodic && i < 1000; ++i)
        frames.push_back({.time_ns = i * 10'000'000, .data = 5, .can_id = 0x100, .length = 8});
      for (int64_t i = 0, time = 1000 + number; time < 10'000'000'000; ++i) {
        frames.push_back({.time_ns = time, .can_id = i % 4 == 0 ? 0x200U : 0x300U, .length = 8});
        time += int64_t{1'000'000} << (i * 5 % 9);
      }
      std::sort(frames.begin(), frames.end(), [](auto& a, auto& b) { return a.time_ns < b.time_ns; });
      MadeFrames source(std::move(frames));
      FrameBatch batch;
      read_frames(source, 10'000, batch);
      writer.append(batch.spans());
      Recording recording;
      recording.name = "attack-free-" + std::to_string(++number);
      recording.split = "train_01";
      writer.end_recording(recording);
    }
    writer.publish(make_provenance(Json::array(), Json::object()));
  }
  TempFolder folder_;
};

TEST_F(Inject, InjectedRecordingsHoldTheRealFramesUntouched) {
  make("clean", 80'000, {});
  const InjectOptions inject = {.frames = folder_ / "clean", .out = folder_ / "out", .attacks = kAll};
  const SimulateResult result = run(inject);
  EXPECT_EQ(result.recordings, 2 * kAttackKinds);
  EXPECT_EQ(result.left_out, 0);
  EXPECT_TRUE(run(inject).already_there);
  EXPECT_EQ(verify_data_set(folder_ / "out"), std::vector<std::string>{});

  const FramesView before(folder_ / "clean");
  const FramesView after(folder_ / "out");
  const auto benign = [](const FramesView& view, const Recording& recording) {
    const FrameSpans part = view.frames().part(recording.first_frame, recording.frames);
    std::vector<std::pair<int64_t, uint32_t>> frames;
    for (size_t i = 0; i < part.label.size(); ++i)
      if (part.label[i] == 0) frames.emplace_back(part.time_ns[i], part.can_id[i]);
    return frames;
  };
  for (const Recording& recording : after.recordings()) {
    const bool first = recording.name.ends_with("attack-free-1");
    const Recording& source = before.recordings()[first ? 0 : 1];
    EXPECT_EQ(recording.name, *recording.attack + "-" + source.name);
    EXPECT_EQ(recording.split, source.split);
    EXPECT_EQ(recording.attack_frames > 0, recording.attack != "suppression");
    if (recording.attack == "masquerade") {
      EXPECT_EQ(recording.frames, source.frames);
    } else if (recording.attack == "suppression") {
      EXPECT_LT(recording.frames, source.frames);
    } else {
      EXPECT_EQ(benign(after, recording), benign(before, source)) << recording.path();
    }
  }
}

// Tests two buses, one of which is busier.
TEST_F(Inject, AttacksOnMergedChannelsAreOnTheTargetsAndLeaveAllFramesInOrder) {
  constexpr int64_t kFrames = 40'000;
  {
    FramesWriter writer(folder_ / "merged", false);
    FrameBatch batch;
    for (int64_t i = 0; i < kFrames; ++i) {
      const uint8_t data[8] = {static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8), 3};
      // Some frames of two channels have the same time, and some times run back.
      batch.append(i / 2 * 1'000'000 - (i % 1000 == 999 ? 2'000'000 : 0),
                   0x100 + static_cast<uint32_t>(i % 7), data, 8, 0);
      batch.channel.push_back(i % 3 == 0 ? 1 : 0);
    }
    writer.append(batch.merged_spans());
    Recording recording;
    recording.name = "drive";
    recording.split = "train_01";
    recording.channels = {"can0", "can1"};
    writer.end_recording(recording);
    writer.publish(make_provenance(Json::array(), Json::object()));
  }
  run({.frames = folder_ / "merged",
       .out = folder_ / "out",
       .attacks = kAll,
       .target = TargetChoice::periodic});
  EXPECT_EQ(verify_data_set(folder_ / "out"), std::vector<std::string>{});
  const FramesView before(folder_ / "merged");
  const FramesView after(folder_ / "out");
  ASSERT_EQ(after.recordings().size(), kAll.size());
  for (const Recording& recording : after.recordings()) {
    EXPECT_EQ(recording.channels, (std::vector<std::string>{"can0", "can1"}));
    const FrameSpans part = after.frames().part(recording.first_frame, recording.frames);
    std::set<uint8_t> attacked;
    std::vector<std::tuple<int64_t, uint64_t, uint8_t>> untouched, original;
    for (size_t i = 0; i < part.label.size(); ++i) {
      if (part.label[i] == 1) attacked.insert(part.channel[i]);
      if (part.label[i] == 0) untouched.emplace_back(part.time_ns[i], part.key(i), part.data[8 * i]);
    }
    EXPECT_EQ(attacked.size(), recording.attack == "suppression" ? 0 : 1) << recording.name;
    for (size_t i = 0; i < before.frames().label.size(); ++i)
      original.emplace_back(before.frames().time_ns[i], before.frames().key(i), before.frames().data[8 * i]);
    if (recording.attack == "masquerade" || recording.attack == "suppression") {
      // All frames left out have the same message, and all others are unchanged.
      std::set<uint64_t> missing;
      auto next = untouched.begin();
      for (const auto& frame : original)
        if (next != untouched.end() && *next == frame)
          ++next;
        else
          missing.insert(std::get<1>(frame));
      EXPECT_EQ(next, untouched.end()) << recording.name;
      EXPECT_EQ(missing.size(), 1) << recording.name;
    } else {
      EXPECT_EQ(untouched, original) << recording.name;
    }
  }
}

TEST_F(Inject, OnlyBenignRecordingsAreInjectedInto) {
  make("mixed", 100'000, kSix);
  const SimulateResult result =
      run(InjectOptions{.frames = folder_ / "mixed", .out = folder_ / "out", .attacks = {AttackKind::dos}});
  EXPECT_EQ(result.recordings, 2);
  EXPECT_EQ(result.left_out, 24);
  const FramesView view(folder_ / "out");
  EXPECT_EQ(view.recordings()[0].path(), "train_01_attack_free/DoS-attack-free-1");
  EXPECT_NE(error_text<InputError>([&] {
              run(InjectOptions{.frames = folder_ / "out", .out = folder_ / "b", .attacks = kAll});
            }).find("to inject into"),
            std::string::npos);
}

TEST_F(Inject, PayloadsOf64BytesAreNotInjectedInto) {
  FramesWriter writer(folder_ / "fd", false, 64);
  writer.publish(make_provenance(Json::array(), Json::object()));
  EXPECT_NE(error_text<InputError>([&] {
              run(InjectOptions{.frames = folder_ / "fd", .out = folder_ / "b", .attacks = kAll});
            }).find("CAN FD"),
            std::string::npos);
}

TEST_F(Inject, WhatIsNotThereIsRefused) {
  EXPECT_THROW(run({.frames = folder_ / "none", .out = folder_ / "b", .attacks = kAll}), InputError);
  make("clean", 1'000, {});
  EXPECT_THROW(run({.frames = folder_ / "clean", .out = folder_ / "b"}), UsageError);
}

TEST_F(Inject, TheManifestTellsOfOptionsThatAreNotAsAlways) {
  make("clean", 8'000, {});
  InjectOptions inject = {.frames = folder_ / "clean", .out = folder_ / "a", .attacks = {AttackKind::dos}};
  run(inject);
  EXPECT_EQ(options_of("a"), (Json{{"inject", {"DoS"}}, {"seed", 1}}));
  inject.target = TargetChoice::periodic;
  inject.label_silence = true;
  inject.keep = true;
  EXPECT_THROW(run(inject), Failure);
  inject.out = folder_ / "b";
  run(inject);
  EXPECT_EQ(options_of("b"), (Json{{"inject", {"DoS"}},
                                   {"seed", 1},
                                   {"target", "periodic"},
                                   {"label_silence", true},
                                   {"keep", true}}));
  EXPECT_TRUE(run(inject).already_there);
}

TEST_F(Inject, SilenceIsLabelledWhereAskedFor) {
  make("clean", 80'000, {});
  InjectOptions inject = {
      .frames = folder_ / "clean", .out = folder_ / "a", .attacks = {AttackKind::suppression}};
  EXPECT_EQ(run(inject).attack_frames, 0);
  inject.out = folder_ / "b";
  inject.label_silence = true;
  EXPECT_GT(run(inject).attack_frames, 0);
  const FramesView without(folder_ / "a");
  const FramesView with(folder_ / "b");
  const FrameSpans a = without.frames();
  const FrameSpans b = with.frames();
  EXPECT_TRUE(std::equal(a.time_ns.begin(), a.time_ns.end(), b.time_ns.begin(), b.time_ns.end()));
  EXPECT_TRUE(std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end()));
}

TEST_F(Inject, KeepWritesTheRecordingsOfTheSetAsWell) {
  // The set is in the order of splits and names, with attacks and a copy.
  make("made", 60'000, kSix);
  const FramesView made(folder_ / "made");
  {
    FramesWriter writer(folder_ / "set", false);
    const auto add = [&](const Recording& recording, const std::string& split) {
      writer.append(made.frames().part(recording.first_frame, recording.frames));
      Recording copy = recording;
      copy.split = split;
      writer.end_recording(copy);
    };
    for (const Recording& recording : made.recordings()) add(recording, recording.split);
    for (const Recording& recording : made.recordings())
      if (!recording.attack) add(recording, "train_09_again");
    writer.publish(make_provenance(Json::array(), Json::object()));
  }
  InjectOptions inject = {.frames = folder_ / "set", .out = folder_ / "alone", .attacks = kAll};
  run(inject);
  inject.out = folder_ / "both";
  inject.keep = true;
  const SimulateResult result = run(inject);
  EXPECT_EQ(verify_data_set(folder_ / "both"), std::vector<std::string>{});

  const FramesView both(folder_ / "both");
  const auto& recordings = both.recordings();
  EXPECT_TRUE(std::is_sorted(recordings.begin(), recordings.end(), [](const auto& a, const auto& b) {
    return std::tie(a.split, a.name) < std::tie(b.split, b.name);
  }));
  size_t expected = 0;
  int copies = 0;
  for (const char* part : {"set", "alone"}) {
    const FramesView view(folder_ / part);
    for (const Recording& recording : view.recordings()) {
      ++expected;
      copies += recording.copy_of ? 1 : 0;
      const auto found = std::find_if(recordings.begin(), recordings.end(),
                                      [&](const Recording& r) { return r.path() == recording.path(); });
      ASSERT_NE(found, recordings.end()) << recording.path();
      Recording moved = *found;
      moved.first_frame = recording.first_frame;
      EXPECT_EQ(moved.to_json(), recording.to_json());
    }
  }
  EXPECT_EQ(recordings.size(), expected);
  EXPECT_EQ(result.recordings, static_cast<int64_t>(expected));
  EXPECT_EQ(copies, 2);
}

TEST_F(Inject, KeepFindsCopiesAgainInItsOwnOrder) {
  make("made", 2'000, {});
  const FramesView made(folder_ / "made");
  {
    FramesWriter writer(folder_ / "set", false);
    for (const char* split : {"train_b", "train_a"}) {
      const Recording& recording = made.recordings()[0];
      writer.append(made.frames().part(0, recording.frames));
      Recording copy = recording;
      copy.split = split;
      writer.end_recording(copy);
    }
    writer.publish(make_provenance(Json::array(), Json::object()));
  }
  run({.frames = folder_ / "set", .out = folder_ / "out", .attacks = {AttackKind::dos}, .keep = true});
  const FramesView out(folder_ / "out");
  ASSERT_EQ(out.recordings().size(), 3U);
  EXPECT_EQ(out.recordings()[0].path(), "train_a/attack-free-1");
  EXPECT_EQ(out.recordings()[0].copy_of, std::nullopt);
  EXPECT_EQ(out.recordings()[1].path(), "train_b/DoS-attack-free-1");
  EXPECT_EQ(out.recordings()[2].copy_of, "train_a/attack-free-1");
}

TEST_F(Inject, KeepRefusesTwoRecordingsOfOneName) {
  make("clean", 8'000, {});
  InjectOptions inject = {.frames = folder_ / "clean", .out = folder_ / "a", .attacks = {AttackKind::dos}};
  inject.keep = true;
  run(inject);
  inject.frames = folder_ / "a";
  inject.out = folder_ / "b";
  EXPECT_NE(error_text<InputError>([&] { run(inject); }).find("DoS-attack-free-1"), std::string::npos);
  inject.attacks = {AttackKind::flooding};
  EXPECT_EQ(run(inject).recordings, 6);
}

TEST_F(Inject, TargetsArePeriodicWhereAskedFor) {
  make_uneven("uneven", {true, false});
  InjectOptions inject = {.frames = folder_ / "uneven",
                          .out = folder_ / "out",
                          .attacks = parse_attacks("spoofing,masquerade,injection,flooding"),
                          .force = true};
  const auto targets = [&] {
    std::set<uint32_t> ids;
    const FramesView view(folder_ / "out");
    for (size_t i = 0; i < view.frames().label.size(); ++i)
      if (view.frames().label[i] == 1) ids.insert(view.frames().can_id[i]);
    return ids;
  };
  for (inject.seed = 1; inject.seed <= 8; ++inject.seed) {
    inject.target = TargetChoice::periodic;
    const SimulateResult result = run(inject);
    EXPECT_EQ(result.recordings, 4);
    EXPECT_EQ(result.left_out, 1);
    EXPECT_EQ(result.not_periodic, 1);
    EXPECT_EQ(targets(), std::set<uint32_t>{0x100});
  }
  inject.target = TargetChoice::any;
  const SimulateResult result = run(inject);
  EXPECT_EQ(result.recordings, 8);
  EXPECT_EQ(result.left_out, 0);
  EXPECT_GT(targets().size(), 1U);
}

TEST_F(Inject, PeriodicTargetsAreDrawnByTheirFrames) {
  make("clean", 80'000, {});
  const FramesView clean(folder_ / "clean");
  std::set<uint32_t> targets;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    run({.frames = folder_ / "clean",
         .out = folder_ / "out",
         .seed = seed,
         .attacks = {AttackKind::masquerade},
         .target = TargetChoice::periodic,
         .force = true});
    const FramesView out(folder_ / "out");
    for (size_t i = 0; i < out.frames().label.size(); ++i)
      if (out.frames().label[i] == 1) targets.insert(out.frames().can_id[i]);
  }
  EXPECT_GT(targets.size(), 8U);
}

TEST_F(Inject, ASetWithoutPeriodicIdsIsRefused) {
  make_uneven("uneven", {false, false});
  const std::string error = error_text<InputError>([&] {
    run({.frames = folder_ / "uneven",
         .out = folder_ / "out",
         .attacks = kAll,
         .target = TargetChoice::periodic});
  });
  EXPECT_NE(error.find("none of the 2"), std::string::npos) << error;
  EXPECT_NE(error.find("--target any"), std::string::npos) << error;
}

}  // namespace
}  // namespace plimsoll
