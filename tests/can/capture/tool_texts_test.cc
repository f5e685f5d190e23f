#include <gtest/gtest.h>

#include "can/capture/formats.h"
#include "support/parse_text.h"

// Texts of SavvyCAN, Cabana, BUSMASTER and PEAK, and tables with their columns.

namespace plimsoll {
namespace {

using Times = std::vector<int64_t>;

constexpr const char* kGvret = "Time Stamp,ID,Extended,Dir,Bus,LEN,D1,D2,D3,D4\n";

Times times_of(const FrameBatch& frames) {
  return {frames.time_ns.begin(), frames.time_ns.end()};
}

ParsedChunk parsed(const std::string& text, FormatOptions options = {.payload = 64}) {
  options.warn = nullptr;
  ParsedChunk piece = parse_text(text, options);
  EXPECT_FALSE(piece.error) << error_of(text, options);
  return piece;
}

TEST(Gvret, NegativeTimesCountFromTheEarliest) {
  const ParsedChunk negative = parsed(kGvret + std::string("-1769872318259854,141,false,Rx,0,1,1A,\n"
                                                           "-1769872318259852,142,false,Rx,0,1,55,\n"
                                                           "5,143,false,Rx,0,1,C0,\n"));
  EXPECT_EQ(times_of(negative.frames), (Times{0, 2'000, 1'769'872'318'259'859'000}));
  EXPECT_EQ(negative.notes.shifted_time, 3);
}

TEST(Gvret, FilesThatASpreadsheetSavedAreRead) {
  for (const char* truth : {"TRUE", "true", "True", "1", "WAHR", "VRAI", "VERDADERO", "VERO"})
    EXPECT_EQ(parsed(kGvret + fmt::format("973,123,{},Tx,0,2,0,1,,\n", truth)).frames.can_id[0],
              0x123U | kCanExtended);
  for (const char* truth : {"FALSE", "0", "FALSCH", "FAUX", "FALSO"})
    EXPECT_EQ(parsed(kGvret + fmt::format("973,123,{},Tx,0,2,0,1,,\n", truth)).frames.can_id[0], 0x123U);
  const ParsedChunk semicolons =
      parsed("Time Stamp;ID;Extended;Dir;Bus;LEN;D1;D2\r\n973;0000013B;FALSCH;Tx;3;2;0;1\r\n");
  EXPECT_EQ(semicolons.frames.can_id[0], 0x13BU);
  EXPECT_EQ(semicolons.frames.channels[0], "3");
  EXPECT_NE(error_of(kGvret + std::string("973,123,maybe,Tx,0,2,0,1,,\n")), "no error");
}

TEST(Gvret, BytesOverTheLengthAreCountedUnlessTheyAreZeros) {
  const ParsedChunk rows =
      parsed(kGvret + std::string("973,123,false,Rx,0,1,02,00,00,A2\n974,123,false,Rx,0,1,02,00,,\n"));
  EXPECT_EQ(rows.notes.extra_bytes, 1);
  EXPECT_EQ(rows.frames.length[0], 1);
}

TEST(Cabana, OldAndNewFilesAreRead) {
  const ParsedChunk old =
      parsed("time,addr,bus,data\n240.479,53,0,0acc\n240.489,419361024,128,01\n240.5,53,2,\n");
  EXPECT_EQ(old.frames.channels, (std::vector<std::string>{"0", "128", "2"}));
  EXPECT_EQ(old.frames.can_id[0], 53U);
  EXPECT_EQ(old.frames.can_id[1], 0x18FEF100U | kCanExtended);
  EXPECT_EQ(old.frames.flags[1], kFrameSent);
  const ParsedChunk now = parsed("time,addr,bus,data\n240.479,0x35,0,0x0acc\n240.489,0x18fef100,1,0x01\n");
  EXPECT_EQ(now.frames.can_id[0], 53U);
  EXPECT_EQ(frame_at(now.frames, 0).payload, (std::vector<uint8_t>{0x0a, 0xcc}));
  EXPECT_EQ(now.frames.can_id[1], 0x18FEF100U | kCanExtended);
  EXPECT_EQ(
      parse_text("time,addr,bus,data\n1.0,53,0,00\n1.0,53,1,00\n", {.channel = "1"}).notes.other_channels, 1);
}

constexpr const char* kBusmaster =
    "***BUSMASTER Ver 3.2.2***\n***PROTOCOL CAN***\n***[START LOGGING SESSION]***\n"
    "***START DATE AND TIME 23:9:2015 22:17:28:928***\n***{}***\n***{} MODE***\n"
    "***<Time><Tx/Rx><Channel><CAN ID><Type><DLC><DataBytes>***\n";
constexpr int64_t kStart = 1'443'046'648'928'000'000;  // 2015-09-23 22:17:28.928

ParsedChunk busmaster(const char* base, const char* mode, const std::string& lines) {
  return parsed(fmt::format(kBusmaster, base, mode) + lines);
}

TEST(Busmaster, TimesAreThoseOfTheDayOrSinceTheStartOrSinceTheLineBefore) {
  constexpr int64_t kDay = kStart - (22 * 3600 + 17 * 60 + 28) * int64_t{1'000'000'000} - 928'000'000;
  constexpr int64_t kLine = (22 * 3600 + 20 * 60 + 15) * int64_t{1'000'000'000};
  const ParsedChunk system = busmaster("HEX", "SYSTEM",
                                       "22:20:15:2 Rx 0 21A s 1 FE\n22:20:15:9420 Rx 0 21A s 1 FE\n"
                                       "00:00:01:0000 Rx 0 21A s 1 FE\n");
  EXPECT_EQ(times_of(system.frames), (Times{kDay + kLine + 2'000'000, kDay + kLine + 942'000'000,
                                            kDay + 86'401 * int64_t{1'000'000'000}}));
  const std::string lines = "00:00:00:1000 Rx 1 21A s 1 FE\n00:00:01:2500 Rx 1 21A s 1 FE\n";
  EXPECT_EQ(times_of(busmaster("HEX", "ABSOLUTE", lines).frames),
            (Times{kStart + 100'000'000, kStart + 1'250'000'000}));
  EXPECT_EQ(times_of(busmaster("HEX", "RELATIVE", lines).frames),
            (Times{kStart + 100'000'000, kStart + 1'350'000'000}));
}

TEST(Busmaster, FramesOfAllKinds) {
  const FrameBatch frames = busmaster("HEX", "SYSTEM",
                                      "22:20:15:2 Tx 1 0x21A s 2 FE 36 \n22:20:15:2 Rx 2 0x21A x 1 01\n"
                                      "22:20:15:2 Rx 1 0x21A sr 8\n22:20:15:2 Rx 1 0x18FEF100 xr 0\n"
                                      "22:20:15:2 Rx 1 0x21A s-fd 12 01 02 03 04 05 06 07 08 09 0A 0B 0C\n"
                                      "22:20:15:2 Rx 1 0x0 ERR BUS\n")
                                .frames;
  ASSERT_EQ(frames.frames(), 6);
  EXPECT_EQ(std::vector<uint32_t>(frames.can_id.begin(), frames.can_id.end()),
            (std::vector<uint32_t>{0x21A, 0x21A | kCanExtended, 0x21A | kCanRemote,
                                   0x18FEF100 | kCanExtended | kCanRemote, 0x21A, kCanError}));
  EXPECT_EQ(frames.length[4], 12);
  EXPECT_EQ(frames.flags[0], kFrameSent);
  EXPECT_EQ(frames.flags[4], kFrameFd);
  const FrameBatch decimal = busmaster("DEC", "SYSTEM", "22:20:15:2 Rx 1 538 s 2 254 54\n").frames;
  EXPECT_EQ(decimal.can_id[0], 0x21AU);
  EXPECT_EQ(frame_at(decimal, 0).payload, (std::vector<uint8_t>{254, 54}));
  EXPECT_NE(error_of("***BUSMASTER Ver 3.2.2***\n***PROTOCOL LIN***\n").find("only logs of CAN"),
            std::string::npos);
}

TEST(Busmaster, ALaterSessionOfAnotherDayIsRefused) {
  const std::string first = fmt::format(kBusmaster, "HEX", "SYSTEM") + "22:20:15:2 Rx 0 21A s 1 FE\n";
  EXPECT_EQ(error_of(first + "***START DATE AND TIME 23:9:2015 23:00:00:0***\n"), "no error");
  EXPECT_NE(error_of(first + "***START DATE AND TIME 24:9:2015 22:17:28:928***\n").find("split the file"),
            std::string::npos);
}

TEST(Trc, AStartThatIsNoNumberIsSaid) {
  const auto start_of = [](const std::string& start, std::vector<std::string>& warnings) {
    FormatOptions options;
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    return parse_text(
               ";$FILEVERSION=1.1\n;$STARTTIME=" + start + "\n     1)      1000.0  Rx         0300  1  00\n",
               options)
        .frames.time_ns[0];
  };
  std::vector<std::string> warnings;
  EXPECT_EQ(start_of("44000,5", warnings), start_of("44000.5", warnings));
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(start_of("18.06.2020", warnings), 1'000'000'000);
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_NE(warnings[0].find("capture:2: the start '18.06.2020'"), std::string::npos);
}

TEST(Table, ChannelsExtendedIdsAndNegativeTimesAreColumns) {
  const FormatOptions options{.name = "table",
                              .columns = {"time", "id", "extended", "channel", "payload"},
                              .decimal_id = true,
                              .time = TimeUnit::microseconds};
  const ParsedChunk rows = parsed("t,id,ext,bus,data\n-100,53,TRUE,0,0x0acc\n-98,53,FALSE,128,01\n", options);
  EXPECT_EQ(rows.frames.can_id[0], 53U | kCanExtended);
  EXPECT_EQ(rows.frames.can_id[1], 53U);
  EXPECT_EQ(rows.frames.channels, (std::vector<std::string>{"0", "128"}));
  EXPECT_EQ(times_of(rows.frames), (Times{0, 2'000}));
  EXPECT_EQ(frame_at(rows.frames, 0).payload, (std::vector<uint8_t>{0x0a, 0xcc}));
  FormatOptions one = options;
  one.channel = "128";
  EXPECT_EQ(parsed("-100,53,TRUE,0,00\n-98,53,FALSE,128,01\n", one).notes.other_channels, 1);
  EXPECT_THROW(CaptureFormat::make({.name = "table", .channel = "1", .columns = {"id"}}, "", "f"),
               UsageError);
}

TEST(Table, TimesOfBusmasterAndDifferences) {
  const FormatOptions day{.name = "table",
                          .columns = {"time", "-", "channel", "id", "extended", "length", "bytes"},
                          .separator = "space",
                          .time = TimeUnit::time_of_day};
  const ParsedChunk rows = parsed("00:00:01:992 Rx 0 0000021A s 2 FE 36 \n00:00:02:2 Rx 0 21A x 1 FE\n", day);
  EXPECT_EQ(times_of(rows.frames), (Times{1'992'000'000, 2'002'000'000}));
  EXPECT_EQ(rows.frames.can_id[0], 0x21AU);
  EXPECT_EQ(rows.frames.can_id[1], 0x21AU | kCanExtended);
  const FormatOptions differences{.name = "table", .columns = {"time", "id"}, .time = TimeUnit::delta};
  EXPECT_EQ(times_of(parsed("0.5,1\n0.25,1\n", differences).frames), (Times{500'000'000, 750'000'000}));
}

TEST(Table, OnlyAFirstLineWithoutTimeAndIdIsAHeader) {
  const FormatOptions options{.name = "table", .columns = {"time", "id"}};
  EXPECT_EQ(parsed("time,identifier\n1.0,123\n", options).frames.frames(), 1);
  EXPECT_NE(error_of("x1.0,123\n1.0,123\n", options), "no error");
  EXPECT_NE(error_of("1.0,?\n1.0,123\n", options), "no error");
}

}  // namespace
}  // namespace plimsoll
