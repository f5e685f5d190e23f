#include <gtest/gtest.h>

#include "can/capture/formats.h"
#include "support/parse_text.h"

namespace plimsoll {
namespace {

using Bytes = std::vector<uint8_t>;
using Times = std::vector<int64_t>;

Times times_of(const FrameBatch& frames) {
  return {frames.time_ns.begin(), frames.time_ns.end()};
}

// Options that collect the warnings about a text.
struct Warnings {
  std::vector<std::string> warnings;
  FormatOptions options(FormatOptions base = {}) {
    base.warn = [this](const std::string& text) { warnings.push_back(text); };
    return base;
  }
};

ParsedFrame only(const std::string& line, const FormatOptions& options = {.payload = 64}) {
  const ParsedChunk parsed = parse_text(line + "\n", options);
  EXPECT_FALSE(parsed.error) << error_of(line + "\n", options);
  EXPECT_EQ(parsed.frames.frames(), 1) << line;
  return frame_at(parsed.frames, 0);
}

TEST(CandumpTimes, ADateIsReadAsUtc) {
  EXPECT_EQ(only(" (2018-12-06 09:31:30.572475)  can0  57E   [2]  C7 35").time_ns, 1'544'088'690'572'475'000);
  EXPECT_EQ(only("(2018-12-06 09:31:30.572475001) can0 57E#C735").time_ns, 1'544'088'690'572'475'001);
  EXPECT_NE(error_of("(2018-13-06 09:31:30.5) can0 123#00\n", {.name = "candump"}), "no error");
}

TEST(CandumpTimes, WithoutTimesFramesHaveNone) {
  const std::string text = "  can0  1CF004FF   [2]  00 01\n  can1  7DF   [0]\n";
  EXPECT_FALSE(CaptureFormat::make({}, text, "f")->has_time());
  EXPECT_EQ(parse_text(text).frames.frames(), 2);
  EXPECT_THROW(CaptureFormat::make({}, text + " (1.0)  can1  7DF   [0]\n", "f"), InputError);
  // A log whose first line was cut off is treated as a log with times.
  EXPECT_NE(error_of("  can1  7DF   [0]\n (1.0)  can1  7DF   [0]\n", {.name = "candump"}), "no error");
}

TEST(CandumpTimes, DifferencesAreAddedUp) {
  Warnings collected;
  const std::string text =
      "(000.000000) can0 123#00\n(000.200074) can0 123#01\n(000.200082) can0 123#02\n(000.100000) can0 "
      "123#03\n";
  const ParsedChunk parsed = parse_text(text, collected.options());
  EXPECT_EQ(times_of(parsed.frames), (Times{0, 200'074'000, 400'156'000, 500'156'000}));
  EXPECT_EQ(parsed.notes.added_time, 4);
  ASSERT_EQ(collected.warnings.size(), 1);
  EXPECT_NE(collected.warnings[0].find("--time s"), std::string::npos);
  EXPECT_EQ(times_of(parse_text(text, collected.options({.time = TimeUnit::seconds})).frames),
            (Times{0, 200'074'000, 200'082'000, 100'000'000}));
}

TEST(CandumpTimes, AConstantDifferenceIsOne) {
  std::string lines = " (000.000000)  can0  123   [1]  00\n";
  for (int i = 0; i < 5; ++i) lines += " (000.100000)  can0  123   [1]  00\n";
  Warnings collected;
  EXPECT_EQ(parse_text(lines, collected.options()).frames.time_ns.back(), 500'000'000);
}

TEST(CandumpTimes, AFewTimesThatGrowMayBeEither) {
  const std::string text = "(000.000000) can0 123#00\n(000.200074) can0 123#01\n(000.200082) can0 123#02\n";
  Warnings collected;
  EXPECT_EQ(times_of(parse_text(text, collected.options()).frames), (Times{0, 200'074'000, 200'082'000}));
  ASSERT_EQ(collected.warnings.size(), 1);
  EXPECT_NE(collected.warnings[0].find("--time delta"), std::string::npos);
  EXPECT_EQ(times_of(parse_text(text, collected.options({.time = TimeUnit::delta})).frames),
            (Times{0, 200'074'000, 400'156'000}));
}

TEST(CandumpTimes, TimesSinceTheFirstFrameAreNotQuestioned) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += fmt::format("(000.{:06}) can0 123#00\n", 1000 * i);
  Warnings collected;
  EXPECT_EQ(parse_text(text, collected.options()).frames.time_ns.back(), 19'000'000);
  EXPECT_EQ(parse_text("(1615000000.1) can0 123#00\n(1615000000.0) can0 123#00\n", collected.options())
                .frames.time_ns.back(),
            1'615'000'000'000'000'000);
  EXPECT_TRUE(collected.warnings.empty());
}

TEST(CandumpTimes, FramesOfOtherChannelsTakeTime) {
  const std::string text = "(000.0) can0 123#00\n(000.2) can1 123#01\n(000.1) can0 123#02\n";
  EXPECT_EQ(times_of(parse_text(text, {.channel = "can0", .time = TimeUnit::delta}).frames),
            (Times{0, 300'000'000}));
}

TEST(Candump, LinesThatAreNoFramesAreCounted) {
  const std::string text =
      "# logged on a ship\n\n(1.0) can0 20000004#0004000000000000\n\tcontroller-problem{rx-error-warning}\n"
      "\tprotocol-violation{{tx-recessive-bit-error,error-on-tx}{acknowledge-slot}}\n\tbus-error\n"
      "\terror-counter-tx-rx{{8}{0}}\nDROPCOUNT: dropped 1 CAN frame on 'can0' socket (total drops 1)\n";
  const ParsedChunk parsed = parse_text(text);
  EXPECT_EQ(parsed.frames.frames(), 1);
  EXPECT_EQ(parsed.notes.other_lines, 6);
  EXPECT_EQ(parsed.notes.blank_lines, 1);
  EXPECT_NE(error_of("(1.0) can0 123#00\nsomething else\n"), "no error");
}

TEST(Candump, ADlcOverEightIsNoByte) {
  const Bytes eight = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
  EXPECT_EQ(only("(1.0) can0 123#1122334455667788_E").payload, eight);
  EXPECT_EQ(only("(1.0) can0 123#11.22.33.44.55.66.77.88_9").payload, eight);
  EXPECT_EQ(only("(1.0) can0 124#R8_F").can_id, 0x124U | kCanRemote);
  EXPECT_EQ(only(" (1.0)  can0  123   {E}  11 22 33 44 55 66 77 88").payload, eight);
  EXPECT_EQ(only(" (1.0)  can0  123   {2}  11 22").payload, (Bytes{0x11, 0x22}));
  EXPECT_NE(error_of("(1.0) can0 123#1122_E\n", {.name = "candump"}), "no error");
}

TEST(Candump, ReadsBytesInBinarySwappedAndColoured) {
  EXPECT_EQ(only(" (1.0)  can0  123   [2]  00010001 11111111").payload, (Bytes{0x11, 0xFF}));
  EXPECT_EQ(only(" (1.0)  can0  123   [3]  33`22`11").payload, (Bytes{0x11, 0x22, 0x33}));
  EXPECT_EQ(only(" (1.0)  can0  123   [3]  11 22 33                  `.\"3`").payload,
            (Bytes{0x11, 0x22, 0x33}));
  const ParsedFrame coloured = only(" (1.0)  \x1b[1m\x1b[34mcan0\x1b[0m  123   [2]  11 22");
  EXPECT_EQ(coloured.payload, (Bytes{0x11, 0x22}));
  EXPECT_EQ(parse_text(" \x1b[1m\x1b[34m(1.0)  can0  123   [1]  11\x1b[0m\n").frames.channels[0], "can0");
}

TEST(Candump, OptionsOfTimesAreForTablesAndCandump) {
  EXPECT_THROW(CaptureFormat::make({.time = TimeUnit::delta}, "date x\n", "f"), UsageError);
  EXPECT_THROW(CaptureFormat::make({.time = TimeUnit::milliseconds}, "(1.0) can0 123#00\n", "f"), UsageError);
}

}  // namespace
}  // namespace plimsoll
