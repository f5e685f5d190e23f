#include <gtest/gtest.h>

#include "can/capture/formats.h"
#include "support/parse_text.h"

// Small captures in every text format, with one line at a time removed or damaged: each line is read as a
// frame or counted.

namespace plimsoll {
namespace {

struct SmallCapture {
  const char* format;
  bool has_header;  // The first line is dropped without a count.
  std::vector<std::string> lines;
  FormatOptions options = {};
};

std::vector<SmallCapture> small_captures() {
  return {
      {"ctat-csv",
       true,
       {"timestamp,arbitration_id,data_field,attack", "1513920459.745822,2C0,1400000000000000,0",
        "1513920459.746063,002,0000000000030B11,1", "1513920459.746301,153,,0"}},
      {"hcrl-csv",
       true,
       {"Timestamp,ID,DLC,DATA,FLAG", "1478198376.389427,0316,8,05,21,68,09,21,21,00,6f,R",
        "1478198376.389636,018f,2,fe,5b,T"}},
      {"hcrl-text",
       false,
       {"Timestamp: 1479121839.998005        ID: 02b0    000    DLC: 5    6a 14 00 07 86",
        "Timestamp: 1479121840.998005        ID: 0350    000    DLC: 2    05 28"}},
      {"candump",
       false,
       {"# a comment", "(1615000000.000100) can0 123#1122334455667788_E",
        "(1615000000.000200) can1 18FEF100#R",
        " (1615000000.000300)  can0  20000004   [8]  00 04 00 00 00 00 00 00   ERRORFRAME",
        "\tcontroller-problem{rx-error-warning}", "",
        " (2018-12-06 09:31:30.572475)  can0  57E   [5]  C7 35 06 18 00",
        "DROPCOUNT: dropped 1 CAN frame on 'can0' socket (total drops 1)"}},
      {"candump", false, {"  can0  1CF004FF   [8]  00 00 00 00 00 00 00 00", "  can1  7DF   [0]"}},
      {"candump",
       false,
       {" (000.000000)  can0  123   [1]  11", " (000.200074)  can0  123   [1]  12",
        " (000.000080)  can0  123   [1]  13"}},
      {"asc",
       false,
       {"date Mo M\xE4r 7 13:21:51.500 2022", "base hex  timestamps absolute", "internal events logged",
        "// version 9.0.0", "Begin Triggerblock Mo M\xE4r 7 13:21:51.500 2022",
        "   0.000000 Start of measurement", "  -0.000250 1  123             Rx   d 2 01 02",
        "   0.000100 1  18FEF100x       Tx   r", "   0.000200 1  ErrorFrame",
        "   0.001600 CANFD   1 Tx  18FEF100x  A0070  1 0 8  8 00 00 07 76 23 00 00 00 230199 119 303000 62e7",
        "   0.001700 1  Statistic: D 0 R 0 XD 0 XR 0 E 0 O 0 B 0.00%", "End TriggerBlock"}},
      {"trc",
       false,
       {";$FILEVERSION=1.3", ";$STARTTIME=44000.5", ";---+-- ------+------ +- --+----- +-",
        "     1)      1059.900 1  Rx        0300 -  7    00 00 00 00 04 00 00",
        "     2)      1283.231 2  Tx        0400 -  4    RTR",
        "     3)      1300.000 1  Warng FFFFFFFF -  4    00 00 00 08  BUSHEAVY",
        "     4)      1323.000 2  Rx    18EFC034 -  3    01 02 03"}},
      {"gvret",
       true,
       {"Time Stamp,ID,Extended,Dir,Bus,LEN,D1,D2,D3,D4,D5,D6,D7,D8",
        "973,0000013B,false,Rx,0,8,00,00,08,00,00,00,00,4C", "2988,18FEF100,TRUE,Tx,1,3,02,02,02,,,,,"}},
      {"cabana", true, {"time,addr,bus,data", "240.479,53,0,0acc0ade0074bf9e", "240.489,419361024,128,01"}},
      {"busmaster",
       false,
       {"***BUSMASTER Ver 2.4.0***", "***PROTOCOL CAN***", "***[START LOGGING SESSION]***",
        "***START DATE AND TIME 23:9:2015 22:17:28:928***", "***HEX***", "***SYSTEM MODE***",
        "22:20:14:992 Rx 0 0000021A s 8 FE 36 12 FE 69 05 07 AD", "22:20:15:2 Tx 1 18FEF100 xr 8",
        "22:20:15:3 Rx 1 0x0 ERR_BUS"}},
      {"python-can",
       true,
       {"timestamp,arbitration_id,extended,remote,error,dlc,data", "1483389946.197,0xdadada,1,0,0,6,YmFzZTY0",
        "1483389946.198,0x7ff,0,1,0,4,"}},
      {"table",
       true,
       {"time,id,bus,ext,data,label", "1.0,123,a,FALSE,1122,0", "2.0,18FEF100,b,TRUE,33,1"},
       {.columns = {"time", "id", "channel", "extended", "payload", "label"}}},
  };
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

FormatOptions options_of(const SmallCapture& capture) {
  FormatOptions options = capture.options;
  options.name = capture.format;
  options.payload = 64;
  options.warn = nullptr;
  return options;
}

// Number of lines that were read as frames or counted.
int64_t accounted_lines(const ParsedChunk& parsed) {
  int64_t count = static_cast<int64_t>(parsed.frames.frames()) + parsed.notes.blank_lines +
                  parsed.notes.other_lines + parsed.notes.other_channels;
  for (const auto& [reason, skipped] : parsed.skipped) count += skipped;
  return count;
}

// Damaged variants of a line.
std::vector<std::string> damaged(const std::string& line) {
  const size_t half = line.size() / 2;
  std::vector<std::string> ways = {line.substr(0, half), line.substr(half), line + line, "?" + line,
                                   line + " ?"};
  for (size_t i = 0; i < line.size(); ++i) {
    ways.push_back(line.substr(0, i) + line.substr(i + 1));
    for (const char c : {'\0', '?', 'Z', ' '}) {
      ways.push_back(line);
      ways.back()[i] = c;
    }
  }
  return ways;
}

TEST(DamagedLines, AWholeFileHasNoBadLine) {
  for (const SmallCapture& capture : small_captures()) {
    const std::string text = text_of(capture.lines);
    const ParsedChunk parsed = parse_text(text, options_of(capture));
    EXPECT_FALSE(parsed.error) << capture.format << ": " << error_of(text, options_of(capture));
    EXPECT_EQ(accounted_lines(parsed) + (capture.has_header ? 1 : 0),
              static_cast<int64_t>(capture.lines.size()))
        << capture.format;
  }
}

TEST(DamagedLines, ALineThatIsRemovedTakesItsFrameAlone) {
  for (const SmallCapture& capture : small_captures()) {
    const auto all =
        static_cast<int64_t>(parse_text(text_of(capture.lines), options_of(capture)).frames.frames());
    int64_t frames = 0;
    for (size_t i = capture.has_header ? 1 : 0; i < capture.lines.size(); ++i) {
      std::vector<std::string> lines = capture.lines;
      lines.erase(lines.begin() + static_cast<int64_t>(i));
      const ParsedChunk parsed = parse_text(text_of(lines), options_of(capture), true);
      EXPECT_EQ(accounted_lines(parsed) + (capture.has_header ? 1 : 0), parsed.lines) << capture.lines[i];
      if (capture.lines[i].starts_with(";$FILEVERSION")) continue;  // The columns differ without it.
      const auto left = static_cast<int64_t>(parsed.frames.frames());
      EXPECT_TRUE(left == all || left == all - 1) << capture.format << ": " << capture.lines[i];
      frames += all - left;
    }
    EXPECT_EQ(frames, all) << capture.format;
  }
}

TEST(DamagedLines, ALineThatIsDamagedIsAFrameOrCounted) {
  for (const SmallCapture& capture : small_captures()) {
    for (size_t i = capture.has_header ? 1 : 0; i < capture.lines.size(); ++i) {
      for (const std::string& line : damaged(capture.lines[i])) {
        std::vector<std::string> lines = capture.lines;
        lines[i] = line;
        const ParsedChunk parsed = parse_text(text_of(lines), options_of(capture), true);
        ASSERT_EQ(accounted_lines(parsed) + (capture.has_header ? 1 : 0), parsed.lines)
            << capture.format << ": " << testing::PrintToString(line);
      }
    }
  }
}

TEST(DamagedLines, AFileWithoutItsHeaderLosesNoFrame) {
  for (const SmallCapture& capture : small_captures()) {
    if (!capture.has_header) continue;
    const std::vector<std::string> lines(capture.lines.begin() + 1, capture.lines.end());
    const ParsedChunk parsed = parse_text(text_of(lines), options_of(capture), true);
    EXPECT_EQ(accounted_lines(parsed), static_cast<int64_t>(lines.size())) << capture.format;
    for (const std::string& line : damaged(lines.front())) {
      std::vector<std::string> others = lines;
      others.front() = line;
      const ParsedChunk rest = parse_text(text_of(others), options_of(capture), true);
      ASSERT_EQ(accounted_lines(rest), rest.lines) << capture.format << ": " << testing::PrintToString(line);
    }
  }
}

}  // namespace
}  // namespace plimsoll
