#include "can/capture/formats.h"

#include <gtest/gtest.h>

#include "support/parse_text.h"

namespace plimsoll {
namespace {

using Bytes = std::vector<uint8_t>;

ParsedFrame only(const std::string& line, const FormatOptions& options = {}) {
  const ParsedChunk parsed = parse_text(line + "\n", options);
  EXPECT_FALSE(parsed.error) << line << ": " << error_of(line + "\n", options);
  EXPECT_EQ(parsed.frames.frames(), 1) << line;
  return frame_at(parsed.frames, 0);
}

TEST(Detection, TellsTheFormatsApartByTheirFirstLine) {
  const auto name = [](const std::string& text) { return CaptureFormat::make({}, text, "f")->name(); };
  EXPECT_EQ(name("timestamp,arbitration_id,data_field,attack\n1.0,110,00,0\n"), "ctat-csv");
  EXPECT_EQ(name("1478198376.389427,0316,8,05,21,68,09,21,21,00,6f,R\n"), "hcrl-csv");
  EXPECT_EQ(name("Timestamp: 1479121434.850202        ID: 0350    000    DLC: 2    05 28\n"), "hcrl-text");
  EXPECT_EQ(name("(1436509052.249713) vcan0 044#2A366C2BBA\n"), "candump");
  EXPECT_EQ(name(" (000.000000)  can0  0CF00400   [8]  F0 7D 7D 00 00 FF FF FF\n"), "candump");
  EXPECT_THROW(name("04b0\n05a0\n"), InputError);
  EXPECT_THROW(name(""), InputError);
}

TEST(HcrlCsv, RowsAreShorterWhereThereAreFewerBytes) {
  const ParsedFrame full = only("1478198376.389427,0316,8,05,21,68,09,21,21,00,6f,R");
  EXPECT_EQ(full.can_id, 0x316U);
  EXPECT_EQ(full.payload, (Bytes{0x05, 0x21, 0x68, 0x09, 0x21, 0x21, 0x00, 0x6f}));
  EXPECT_EQ(full.label, 0);
  const ParsedFrame brief = only("1478198376.389636,018f,2,fe,5b,T");
  EXPECT_EQ(brief.payload, (Bytes{0xfe, 0x5b}));
  EXPECT_EQ(brief.label, 1);
  EXPECT_EQ(only("1478198376.389636,018f,2,fe,5b,,,,,,,T").label, 1);
  EXPECT_NE(error_of("1.0,018f,3,fe,5b,T\n", {.name = "hcrl-csv"}), "no error");
}

TEST(HcrlText, HasNoLabel) {
  const ParsedFrame frame =
      only("Timestamp: 1479121839.998005        ID: 02b0    000    DLC: 5    6a 14 00 07 86");
  EXPECT_EQ(frame.time_ns, 1'479'121'839'998'005'000);
  EXPECT_EQ(frame.can_id, 0x2b0U);
  EXPECT_EQ(frame.payload, (Bytes{0x6a, 0x14, 0x00, 0x07, 0x86}));
  EXPECT_EQ(frame.label, kUnlabelled);
}

TEST(Candump, ReadsBothLayouts) {
  const ParsedFrame compact = only("(1676937898.314919) can0 08FE6E0B#FFFE");
  EXPECT_EQ(compact.can_id, 0x08FE6E0BU | kCanExtended);
  EXPECT_EQ(compact.payload, (Bytes{0xFF, 0xFE}));
  EXPECT_EQ(compact.time_ns, 1'676'937'898'314'919'000);
  const ParsedFrame spaced = only(" (000.001671)  can0  123   [3]  FF FE FD");
  EXPECT_EQ(spaced.can_id, 0x123U);
  EXPECT_EQ(spaced.payload, (Bytes{0xFF, 0xFE, 0xFD}));
  EXPECT_EQ(only("(1.0) can0 123#").payload, Bytes{});
  EXPECT_EQ(only(" (000.1)  can0  RX - -  123   [1]  FF   '.'").payload, Bytes{0xFF});
  EXPECT_EQ(only("(1.0) can0 123#AA T").payload, Bytes{0xAA});
}

TEST(Candump, FlagsRemoteErrorAndExtendedFrames) {
  EXPECT_EQ(only("(1.0) can0 7DF#R").can_id, 0x7DFU | kCanRemote);
  EXPECT_EQ(only("(1.0) can0 7DF#R8").can_id, 0x7DFU | kCanRemote);
  EXPECT_EQ(only(" (1.0)  can0  7DF   [4]  remote request").can_id, 0x7DFU | kCanRemote);
  EXPECT_EQ(only("(1.0) can0 20000004#0000000000000000").can_id, 4U | kCanError);
  EXPECT_EQ(only("(1.0) can0 00000123#00").can_id, 0x123U | kCanExtended);
}

TEST(Candump, FdFramesNeedASetWithRoomForThem) {
  const std::string line = "(1.0) can0 123##1" + std::string(128, 'A');
  EXPECT_EQ(only(line, {.payload = 64}).payload, Bytes(64, 0xAA));
  EXPECT_NE(error_of(line + "\n").find("--payload 64"), std::string::npos);
  EXPECT_NE(error_of(" (1.0)  can0  123  [12]  00 11 22 33 44 55 66 77 88 99 AA BB\n").find("--payload 64"),
            std::string::npos);
}

TEST(Candump, FramesTellTheirChannels) {
  const std::string two = "(1.0) can0 123#00\n(1.1) can1 124#00\n(1.2) can0 124#00\n";
  const FrameBatch all = parse_text(two).frames;
  EXPECT_EQ(all.channels, (std::vector<std::string>{"can0", "can1"}));
  EXPECT_EQ(std::vector<int>(all.channel.begin(), all.channel.end()), (std::vector<int>{0, 1, 0}));
  const ParsedChunk parsed = parse_text(two, {.channel = "can1"});
  EXPECT_EQ(parsed.frames.frames(), 1);
  EXPECT_EQ(parsed.notes.other_channels, 2);
}

TEST(Candump, MoreThan64ChannelsAreNoCapture) {
  std::string many;
  for (int i = 0; i < 65; ++i) many += fmt::format("(1.0) can{} 123#00\n", i);
  EXPECT_EQ(error_of(many).substr(0, 5), "65:7:");
}

TEST(Candump, ASuffixIsALabelWhereTheUserSaysSo) {
  const std::string lines = "(0.0) can0 110#02 False\tFalse\n(0.1) can0 410#03 1\tFalse\n";
  EXPECT_EQ(parse_text(lines).notes.suffixes, 2);
  const FrameBatch labelled = parse_text(lines, {.attack_labels = {"1"}}).frames;
  EXPECT_EQ(labelled.label[0], 0);
  EXPECT_EQ(labelled.label[1], 1);
}

TEST(Asc, TimesStartAtTheDateOfTheMeasurement) {
  const auto start_of = [](const std::string& header) {
    const FrameBatch frames = parse_text(header + "0.5 1 123 Rx d 1 00\n", {.name = "asc"}).frames;
    EXPECT_EQ(frames.frames(), 1) << header;
    return frames.time_ns[0] - 500'000'000;
  };
  constexpr int64_t kDay = int64_t{1'506'729'600} * 1'000'000'000;  // 2017-09-30
  constexpr int64_t kTime = (int64_t{15} * 3600 + 6 * 60 + 13) * 1'000'000'000 + 191'000'000;
  const std::string base = "base hex  timestamps absolute\n";
  EXPECT_EQ(start_of("date Sat Sep 30 15:06:13.191 2017\n" + base), kDay + kTime);
  EXPECT_EQ(start_of("date Sat Sep 30 03:06:13.191 pm 2017\n" + base), kDay + kTime);
  EXPECT_EQ(start_of("date Sat Sep 30 12:00:00 AM 2017\n" + base), kDay);
  EXPECT_EQ(start_of("date Sam M\xC3\xA4r 1 00:00:00 1970\n" + base), int64_t{59} * 86'400'000'000'000);
  // python-can writes the time of the file in the header and the time of the first frame in the block.
  EXPECT_EQ(start_of("date Sat Sep 30 16:00:00.0 2017\n" + base +
                     "Begin Triggerblock Sat Sep 30 15:06:13.191 2017\n   0.000000 Start of measurement\n"),
            kDay + kTime);
  for (const char* const none : {"date Sat Sep 31 15:06:13.191 2017\n", "date Sat Foo 30 15:06:13.191 2017\n",
                                 "date\n", "date Sat Sep 30 25:06:13.191 2017\n", "date Sat Sep 30 2017\n"})
    EXPECT_EQ(start_of(none + base), 0) << none;
}

TEST(Table, ReadsColumnsAsTheyAreDescribed) {
  EXPECT_EQ(
      only("0.5,790,8,5,32,234,10,32,26,0,127,0", {.name = "table",
                                                   .columns = {"time", "id", "length", "byte*8", "label"},
                                                   .decimal_id = true,
                                                   .decimal_bytes = true})
          .payload,
      (Bytes{5, 32, 234, 10, 32, 26, 0, 127}));
  const ParsedFrame bits = only("9e-06,1D0,64,0000000000000061,01,True",
                                {.name = "table",
                                 .columns = {"time", "id", "length", "payload", "-", "label"},
                                 .length_in_bits = true});
  EXPECT_EQ(bits.time_ns, 9000);
  EXPECT_EQ(bits.label, 1);
  const ParsedFrame day = only("0\tReceive\t 14:28:27.493.0\t0x09fd0219\tData\tExtend\t3\tFF A9 00 \t",
                               {.name = "table",
                                .columns = {"-*2", "time", "id", "-*2", "length", "payload", "-"},
                                .separator = "tab",
                                .time = TimeUnit::time_of_day});
  EXPECT_EQ(day.time_ns, (14 * 3600 + 28 * 60 + 27) * int64_t{1'000'000'000} + 493'000'000);
  EXPECT_EQ(day.can_id, 0x09fd0219U | kCanExtended);
  EXPECT_EQ(day.payload, (Bytes{0xFF, 0xA9, 0x00}));
  EXPECT_EQ(only("1618676990.693704        0110    000    2    02 20",
                 {.name = "table", .columns = {"time", "id", "-", "length", "bytes"}, .separator = "space"})
                .payload,
            (Bytes{0x02, 0x20}));
  const ParsedFrame quoted =
      only("0.0,217055747,C1E0,\"flood, high\"", {.name = "table",
                                                  .attack_labels = {"flood, high"},
                                                  .columns = {"time", "id", "payload", "label"},
                                                  .quote = "\"",
                                                  .decimal_id = true});
  EXPECT_EQ(quoted.can_id, 217055747U | kCanExtended);
  EXPECT_EQ(quoted.label, 1);
  EXPECT_EQ(only("1500,110,00",
                 {.name = "table", .columns = {"time", "id", "payload"}, .time = TimeUnit::milliseconds})
                .time_ns,
            1'500'000'000);
}

TEST(Table, ALengthThatDoesNotAgreeIsAnError) {
  EXPECT_NE(error_of("1.0,110,3,AABB\n", {.name = "table", .columns = {"time", "id", "length", "payload"}})
                .find("agrees"),
            std::string::npos);
}

TEST(Table, DescriptionsThatMakeNoSenseAreUsageErrors) {
  for (const std::vector<std::string>& columns : std::vector<std::vector<std::string>>{
           {}, {"time"}, {"id", "colour"}, {"id", "byte*0"}, {"id", "byte*x"}, {"...", "id"}})
    EXPECT_THROW(parse_text("1,2\n", {.name = "table", .columns = columns}), UsageError);
  EXPECT_THROW(parse_text("1\n", {.name = "table", .columns = {"id"}, .separator = "ab"}), UsageError);
  EXPECT_THROW(parse_word<TimeUnit>("weeks", "--time"), UsageError);
}

}  // namespace
}  // namespace plimsoll
