#include "can/write/convert.h"

#include <gtest/gtest.h>

#include <array>

#include "base/philox.h"
#include "can/capture/ingest.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

// Payload lengths of CAN FD.
constexpr std::array<size_t, 10> kFdLengths = {1, 5, 8, 12, 16, 20, 24, 32, 48, 64};

constexpr int64_t kStart = 1'700'000'000'123'456'000;

// The features that both formats have.
WrittenFormat common(const WrittenFormat& a, const WrittenFormat& b) {
  WrittenFormat both = a;
  both.remote &= b.remote;
  both.error &= b.error;
  both.flags &= b.flags;
  both.channels &= b.channels;
  return both;
}

// Random numbers that are a function of the seed.
class Dice {
 public:
  explicit Dice(uint64_t seed) : philox_(seed) {}
  uint32_t below(uint32_t count) {
    if (at_ == 4) {
      numbers_ = philox_({index_++, 0, 0, 0});
      at_ = 0;
    }
    return numbers_[at_++] % count;
  }

 private:
  Philox philox_;
  std::array<uint32_t, 4> numbers_{};
  uint32_t index_ = 0;
  size_t at_ = 4;
};

// Makes frames of all kinds that `format` holds, on two channels if it records them.
FrameBatch random_frames(const WrittenFormat& format, size_t count, uint64_t seed) {
  Dice dice(seed);
  FrameBatch frames;
  frames.width = 64;
  int64_t time_ns = kStart;
  for (size_t i = 0; i < count; ++i) {
    time_ns += 1 + dice.below(2'000'000);
    uint32_t id = dice.below(3) == 0 ? dice.below(1 << 29) | kCanExtended : dice.below(1 << 11);
    uint8_t flags = static_cast<uint8_t>(dice.below(16));
    if ((flags & kFrameFd) == 0) flags &= kFrameSent;
    size_t length = dice.below(9);
    const uint32_t kind = dice.below(20);
    if (kind == 0 && format.remote) {
      id |= kCanRemote;
      length = 0;
      flags &= kFrameSent;
    } else if (kind == 1 && format.error) {
      id = kCanError | dice.below(1 << 29);
      length = 8;
      flags &= kFrameSent;
    } else if (kind < 8) {
      length = kFdLengths[dice.below(kFdLengths.size())];
      flags |= kFrameFd;
    }
    std::array<uint8_t, 64> data{};
    for (size_t k = 0; k < length; ++k) data[k] = static_cast<uint8_t>(dice.below(256));
    frames.append(time_ns, id, data.data(), length, 0);
    frames.set_flags(flags & format.flags);
    if (format.channels) frames.set_channel(std::to_string(1 + dice.below(2)));
  }
  return frames;
}

const std::array<const WrittenFormat*, 2> kFormats = {&written_format("csv"), &written_format("candump")};

class Convert : public ::testing::Test {
 protected:
  std::filesystem::path write(const WrittenFormat& format, const FrameBatch& frames,
                              const WriteOptions& options = {}) {
    const std::filesystem::path path = folder_ / (std::string("from") + format.ending);
    File file = File::create(path);
    CaptureWriter writer(format, file, options);
    writer.append(frames);
    writer.finish();
    losses_ = writer.losses();
    return path;
  }
  ConvertResult convert(const std::filesystem::path& from, const WrittenFormat& to,
                        const std::string& name = "to") {
    return convert_capture({.source = from,
                            .out = folder_ / (name + to.ending),
                            .to = &to,
                            .force = true,
                            .format = {.payload = 64, .benign = std::string(to.name) == "csv"}},
                           [](int64_t, int64_t) {});
  }
  // The contents of a capture's recordings, with only the flags in `kept`.
  std::vector<std::string> contents(const std::filesystem::path& path, uint8_t kept = kFrameFlags) {
    const std::filesystem::path out = folder_ / "set";
    ingest_can({.sources = {path}, .out = out, .force = true, .format = {.payload = 64, .benign = true}},
               [](int64_t, int64_t) {});
    const FramesView view(out);
    std::vector<std::string> found;
    for (const Recording& recording : view.recordings()) {
      std::string flags(static_cast<size_t>(recording.frames), '0');
      if (!view.frames().flags.empty())
        std::ranges::transform(view.frames().part(recording.first_frame, recording.frames).flags,
                               flags.begin(),
                               [&](uint8_t its) { return static_cast<char>('0' + (its & kept)); });
      found.push_back(recording.content + " " + flags);
    }
    return found;
  }
  TempFolder folder_;
  WriteLosses losses_;
};

TEST_F(Convert, WhatBothFormatsHoldComesBackForEveryPair) {
  for (const WrittenFormat* const from : kFormats) {
    for (const WrittenFormat* const to : kFormats) {
      SCOPED_TRACE(std::string(from->name) + " to " + to->name);
      const WrittenFormat both = common(*from, *to);
      const FrameBatch frames = random_frames(both, 200, 7);
      const std::filesystem::path source = write(*from, frames);
      EXPECT_TRUE(losses_.to_json().empty() || (losses_.labels == 200 && losses_.to_json().size() == 1))
          << losses_.to_json().dump();
      const ConvertResult result = convert(source, *to);
      EXPECT_EQ(result.frames, 200);
      WriteLosses losses = result.losses;
      losses.labels = 0;  // Only csv has labels.
      EXPECT_TRUE(losses.to_json().empty()) << losses.to_json().dump();
      EXPECT_EQ(contents(result.out, both.flags), contents(source, both.flags));
    }
  }
}

TEST_F(Convert, ReadersGiveTheFramesThatWereWritten) {
  for (const WrittenFormat* const format : kFormats) {
    SCOPED_TRACE(format->name);
    FrameBatch frames = random_frames(*format, 12'000, 3);
    // With one channel, frames keep the order of the set.
    std::ranges::fill(frames.channel, uint8_t{0});
    const std::filesystem::path path = write(*format, frames);
    const std::filesystem::path out = folder_ / "set";
    ingest_can({.sources = {path}, .out = out, .force = true, .format = {.payload = 64, .benign = true}},
               [](int64_t, int64_t) {});
    const FramesView view(out);
    const FrameSpans read = view.frames();
    ASSERT_EQ(read.size(), 12'000);
    EXPECT_TRUE(std::ranges::equal(read.time_ns, frames.time_ns));
    EXPECT_TRUE(std::ranges::equal(read.can_id, frames.can_id));
    EXPECT_TRUE(std::ranges::equal(read.length, frames.length));
    EXPECT_TRUE(std::ranges::equal(read.data, frames.data));
    if (format->flags != 0) {
      EXPECT_TRUE(std::ranges::equal(read.flags, frames.flags));
    }
  }
}

TEST_F(Convert, AFrameBeforeTheFirstKeepsItsTimeAndPlace) {
  FrameBatch frames = random_frames(written_format("candump"), 20'000, 5);
  std::ranges::fill(frames.channel, uint8_t{0});
  frames.time_ns[15'000] = 1'000'000'001;
  frames.time_ns[19'000] = 7;
  const std::filesystem::path source = write(written_format("candump"), frames);
  const ConvertResult result = convert(source, written_format("candump"));
  EXPECT_EQ(contents(result.out), contents(source));
  EXPECT_EQ(result.frames, 20'000);
}

TEST_F(Convert, WhatAFormatHasNoneOfIsRefusedOrLeftOut) {
  FrameBatch frames;
  frames.width = 64;
  const std::array<uint8_t, 64> data{};
  frames.append(kStart, 0x10, data.data(), 1, 0);
  frames.append(kStart, 0x11 | kCanRemote, data.data(), 0, 0);
  frames.append(kStart, 0x12 | kCanError, data.data(), 8, 0);
  frames.append(kStart, 0x13, data.data(), 12, 0);
  const WrittenFormat& csv = written_format("csv");
  EXPECT_NE(error_text<InputError>([&] {
              write(csv, frames);
            }).find("40000011: csv has no remote frames; leave them out with --leave-out remote"),
            std::string::npos);
  const std::string refusal = error_text<InputError>([&] { write(csv, frames, {.leave_out = {"remote"}}); });
  EXPECT_NE(refusal.find("csv has no error frames"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("--to candump"), std::string::npos) << refusal;
  write(csv, frames, {.leave_out = {"remote", "error"}});
  EXPECT_EQ(losses_.to_json(), Json({{"remote_frames", 1}, {"error_frames", 1}}));
  EXPECT_EQ(losses_.text(), "1 remote frames, 1 error frames");
  for (const char* const kind : {"errors", "fd"})
    EXPECT_THROW(write(csv, frames, {.leave_out = {kind}}), UsageError);
  write(written_format("candump"), frames);
  EXPECT_EQ(losses_.to_json(), Json({{"labels", 4}}));
}

TEST_F(Convert, AnotherFormatIsRefusedWithWhatMakesIt) {
  for (const char* const name : {"blf", "mf4", "asc", "trc", "db"}) {
    const std::string remedy = std::string("python -m can.logconvert drive.log drive.") + name;
    const std::string by_name = error_text<UsageError>([&] { written_format(name); });
    EXPECT_NE(by_name.find(remedy), std::string::npos) << by_name;
    const std::string by_ending =
        error_text<UsageError>([&] { format_of_ending(std::string("to.") + name); });
    EXPECT_NE(by_ending.find(remedy), std::string::npos) << by_ending;
  }
  for (const char* const name : {"pcapng", "gvret", "python-can", "sqlite", "x"})
    EXPECT_NE(error_text<UsageError>([&] { written_format(name); }).find("expected csv or candump"),
              std::string::npos);
  for (const char* const path : {"to.pcap", "to.PCAPNG", "to.sqlite", "to.sqlite3"})
    EXPECT_THROW(format_of_ending(path), UsageError);
  EXPECT_EQ(format_of_ending("to.LOG"), &written_format("candump"));
  EXPECT_EQ(format_of_ending("to.csv"), &written_format("csv"));
  EXPECT_EQ(format_of_ending("to.txt"), nullptr);
}

TEST_F(Convert, LabelsAndFlagsThatAreLostAreCounted) {
  FrameBatch frames;
  frames.width = 64;
  const std::array<uint8_t, 64> data{};
  for (int i = 0; i < 10; ++i) {
    frames.append(kStart + i, 0x10, data.data(), 1, i % 2);
    frames.set_flags(i == 3 ? kFrameSent : 0);
  }
  write(written_format("csv"), frames);
  EXPECT_EQ(losses_.to_json(), Json({{"flags", 1}}));
  write(written_format("candump"), frames, {.labels = true});
  EXPECT_EQ(losses_.to_json(), Json({{"flags", 1}}));
  std::ranges::fill(frames.label, kUnlabelled);
  write(written_format("candump"), frames);
  EXPECT_TRUE(losses_.to_json().empty());
  EXPECT_NE(error_text<InputError>([&] { write(written_format("csv"), frames); }).find("--benign"),
            std::string::npos);
}

TEST_F(Convert, ChannelsKeepTheirNames) {
  write_bytes(folder_ / "a.log",
              "(1.0) can1 001#00\n(1.1) 2 002#00\n(1.2) can0 003#00\n(1.3) 77 004#00\n(1.4) can1 005#00\n");
  convert(folder_ / "a.log", written_format("candump"));
  EXPECT_EQ(contents(folder_ / "to.log"), contents(folder_ / "a.log"));
  EXPECT_EQ(
      read_bytes(folder_ / "to.log").find("(0000000001.000000) can1 001#00\n(0000000001.100000) 2 002#"), 0);
  EXPECT_NE(error_text<InputError>([&] {
              convert(folder_ / "a.log", written_format("csv"));
            }).find("a.log: channels 'can1' and '2'"),
            std::string::npos);
}

TEST_F(Convert, TheOutputIsWholeOrAsItWas) {
  write_bytes(folder_ / "a.log", "(1.0) can1 001#00\n(1.1) can1 x\n");
  write_bytes(folder_ / "to.csv", "mine");
  EXPECT_NE(error_text<InputError>([&] {
              convert(folder_ / "a.log", written_format("csv"));
            }).find("a.log:2:12: found 'x'"),
            std::string::npos);
  EXPECT_EQ(read_bytes(folder_ / "to.csv"), "mine");
  const auto files = std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  EXPECT_EQ(files, 2);
  const auto once = [&](const std::string& out) {
    return convert_capture({.source = folder_ / "a.log",
                            .out = folder_ / out,
                            .to = &written_format("csv"),
                            .format = {.benign = true}},
                           [](int64_t, int64_t) {});
  };
  EXPECT_NE(error_text<Failure>([&] { once("to.csv"); }).find("--force"), std::string::npos);
  EXPECT_THROW(once("b.csv.zst"), UsageError);
  write_bytes(folder_ / "a.log", "(1.0) can1 001#00\n");
  EXPECT_EQ(once("b").out, folder_ / "b");
  EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "b" / "a.csv"));
  write_bytes(folder_ / "a.log", "# nothing\n");
  EXPECT_THROW(once("c.csv"), InputError);
}

}  // namespace
}  // namespace plimsoll
