#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "support/parse_text.h"

namespace plimsoll {
namespace {

const FormatOptions kCtat{.name = "ctat-csv"};

constexpr const char* kHeader = "timestamp,arbitration_id,data_field,attack\n";

// Reads one line with the library's slow parser.
ParsedFrame slow_parse(const std::string& line) {
  std::istringstream stream(line);
  std::string time;
  std::string id;
  std::string payload;
  std::string label;
  std::getline(stream, time, ',');
  std::getline(stream, id, ',');
  std::getline(stream, payload, ',');
  std::getline(stream, label);
  const size_t point = time.find('.');
  std::string fraction = point == std::string::npos ? "" : time.substr(point + 1);
  fraction.resize(9, '0');
  ParsedFrame frame{std::stoll(time.substr(0, point)) * 1'000'000'000 + std::stoll(fraction),
                    static_cast<uint32_t>(std::stoul(id, nullptr, 16)),
                    {},
                    static_cast<uint8_t>(std::stoi(label))};
  if (frame.can_id > 0x7FF || id.size() == 8) frame.can_id |= kCanExtended;
  for (size_t i = 0; i + 1 < payload.size(); i += 2)
    frame.payload.push_back(static_cast<uint8_t>(std::stoul(payload.substr(i, 2), nullptr, 16)));
  return frame;
}

std::string random_line(std::mt19937& random) {
  const auto pick = [&](uint32_t below) { return random() % below; };
  std::string line = fmt::format("{}", pick(2) != 0U ? 1513920254 + pick(1000) : pick(10));
  if (pick(8) != 0) line += fmt::format(".{:0{}}", pick(10), 1 + pick(9));
  const uint32_t id = pick(4) == 0 ? random() & 0x1FFFFFFF : pick(0x800);
  line += pick(2) != 0U ? fmt::format(",{:X},", id) : fmt::format(",{:03x},", id);
  const uint32_t digits = pick(17);
  for (uint32_t i = 0; i < digits; ++i) line += "0123456789abcdefABCDEF"[pick(22)];
  return line + (pick(2) != 0U ? ",1" : ",0");
}

TEST(CtatCsv, AgreesWithLibraryParsersOnRandomLines) {
  std::mt19937 random(1);
  std::vector<std::string> lines;
  std::string text = kHeader;
  for (int i = 0; i < 20'000; ++i) {
    lines.push_back(random_line(random));
    text += lines.back() + "\n";
  }
  const FrameBatch batch = parse_text(text, kCtat).frames;
  ASSERT_EQ(batch.frames(), lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const ParsedFrame expected = slow_parse(lines[i]);
    const ParsedFrame found = frame_at(batch, i);
    ASSERT_EQ(found.time_ns, expected.time_ns) << lines[i];
    ASSERT_EQ(found.can_id, expected.can_id) << lines[i];
    ASSERT_EQ(found.payload, expected.payload) << lines[i];
    ASSERT_EQ(found.label, expected.label) << lines[i];
    for (size_t k = found.payload.size(); k < kPayloadBytes; ++k)
      ASSERT_EQ(batch.data[i * kPayloadBytes + k], 0);
  }
}

// A single line is too short for the fast parser. The same line is long enough if other lines follow it.
TEST(CtatCsv, FastWayGivesWhatALineAloneGives) {
  std::mt19937 random(2);
  const std::string padding =
      "1.0,1,,0\n1.0,1,,0\n1.0,1,,0\n1.0,1,,0\n1.0,1,,0\n1.0,1,,0\n1.0,1,,0\n1.0,1,,0\n";
  for (const int64_t width : {8, 64}) {
    FormatOptions options = kCtat;
    options.payload = width;
    for (int i = 0; i < 30'000; ++i) {
      std::string line = random_line(random);
      for (uint32_t m = random() % 3; m > 0; --m)
        line[random() % line.size()] = "0123456789abcdefABCDEF,. \t\r\ngG@/:;x-"[random() % 37];
      line = "x\n" + line + "\n";  // Otherwise the line would be treated as a header.
      const ParsedChunk alone = parse_text(line, options, true);
      const ParsedChunk among = parse_text(line + padding, options, true);
      const size_t frames = alone.frames.frames();
      ASSERT_EQ(among.frames.frames(), frames + 8) << line;
      ASSERT_EQ(among.lines, alone.lines + 8) << line;
      ASSERT_EQ(among.skipped, alone.skipped) << line;
      for (size_t f = 0; f < frames; ++f) {
        const ParsedFrame a = frame_at(alone.frames, f);
        const ParsedFrame b = frame_at(among.frames, f);
        ASSERT_TRUE(a.time_ns == b.time_ns && a.can_id == b.can_id && a.payload == b.payload &&
                    a.label == b.label)
            << line;
      }
      const auto bytes = static_cast<std::ptrdiff_t>(frames) * width;
      ASSERT_TRUE(
          std::equal(alone.frames.data.begin(), alone.frames.data.begin() + bytes, among.frames.data.begin()))
          << line;
    }
  }
}

TEST(CtatCsv, TrapsAreHandledOnPurposeAndCounted) {
  const ParsedChunk parsed = parse_text(
      "timestamp,arbitration_id,data_field,attack\r\n"
      "2.5,1ED,614008F208E870DE\t,1\n"
      "2.4,1ED,ABC,0\n"
      "2.6,000,,0\r\n"
      "\n"
      "  \t\n"
      "2.7,7FF,00,0");
  ASSERT_EQ(parsed.frames.frames(), 4);
  EXPECT_EQ(frame_at(parsed.frames, 0).payload,
            (std::vector<uint8_t>{0x61, 0x40, 0x08, 0xF2, 0x08, 0xE8, 0x70, 0xDE}));
  EXPECT_EQ(frame_at(parsed.frames, 1).payload, (std::vector<uint8_t>{0xAB}));
  EXPECT_EQ(frame_at(parsed.frames, 2).payload, (std::vector<uint8_t>{}));
  EXPECT_EQ(frame_at(parsed.frames, 3).time_ns, 2'700'000'000);
  EXPECT_EQ(parsed.notes.to_json(), (Json{{"odd_payload", 1},
                                          {"trimmed_payload", 1},
                                          {"empty_payload", 1},
                                          {"blank_lines", 2},
                                          {"crlf_lines", 2}}));
}

TEST(CtatCsv, AFileWithoutAHeaderIsRead) {
  EXPECT_EQ(parse_text("1.0,110,00,0\n").frames.frames(), 1);
}

TEST(CtatCsv, MoreThanNineDigitsAreRoundedAndNoted) {
  const ParsedChunk parsed = parse_text("0.1234567896,110,00,0\n9e-06,110,00,0\n");
  EXPECT_EQ(frame_at(parsed.frames, 0).time_ns, 123'456'790);
  EXPECT_EQ(frame_at(parsed.frames, 1).time_ns, 9'000);
  EXPECT_EQ(parsed.notes.rounded_time, 2);
}

TEST(CtatCsv, ErrorsNameLineAndColumn) {
  const std::string head = kHeader;
  EXPECT_EQ(error_of(head + "1.0,110,00,0\n1.0,11G,00,0\n"), "3:7: found 'G,00,0', expected a CAN ID in hex");
  EXPECT_EQ(error_of(head + "1.0,110,0X,0\n").substr(0, 17), "2:10: found 'X,0'");
  EXPECT_EQ(error_of(head + "1.0,110,00\n").substr(0, 14), "2:11: found ''");
  EXPECT_EQ(error_of(head + "1.0,110,00,0,0\n").substr(0, 16), "2:13: found ',0'");
  EXPECT_EQ(error_of(head + "1.0,110,00,2\n").substr(0, 15), "2:12: found '2'");
  EXPECT_EQ(error_of(head + "yesterday,110,00,0\n").substr(0, 8), "2:1: fou");
}

TEST(CtatCsv, ImpossibleValuesAreErrors) {
  for (const char* line : {"1.0,,00,0", "1.0,20000000,00,0", "1.0,110,001122334455667788,0", "-1,110,00,0",
                           ".5,110,00,0", "1e19,110,00,0", "1.0,110,0 0,0", "1.0,110,00,",
                           "99999999999,110,00,0", "\xff\xfe,110,00,0", ",,,", ",", "nan,110,00,0"})
    EXPECT_NE(error_of(std::string(kHeader) + line + "\n", kCtat), "no error") << line;
}

TEST(CtatCsv, ALineThatTheFileEndsInIsNamedAsCutOff) {
  EXPECT_NE(error_of(std::string(kHeader) + "1.0,110,00,0\n1.1,11").find("(cut off)"), std::string::npos);
  EXPECT_EQ(error_of(std::string(kHeader) + "1.0,11G,00,0\n").find("(cut off)"), std::string::npos);
}

TEST(CtatCsv, BadLinesMayBeSkippedAndAreCountedByReason) {
  const ParsedChunk parsed =
      parse_text(std::string(kHeader) + "1.0,110,00,0\n1.0,11G,00,0\n1.0,XX,00,0\n1.0,1,0,\n2.0,111,01,1\n",
                 kCtat, true);
  EXPECT_FALSE(parsed.error);
  ASSERT_EQ(parsed.frames.frames(), 2);
  EXPECT_EQ(frame_at(parsed.frames, 1).payload, std::vector<uint8_t>{1});
  EXPECT_EQ(parsed.frames.data.size(), 16);
  EXPECT_EQ(parsed.skipped,
            (std::map<std::string, int64_t>{{"a CAN ID in hex", 2}, {"0 (normal) or 1 (attack)", 1}}));
}

TEST(CtatCsv, AnyBytesGiveFramesOrAnErrorInEveryFormat) {
  std::mt19937 random(2);
  const std::vector<std::pair<FormatOptions, std::string>> good = {
      {kCtat, std::string(kHeader) + "1513920254.785127,110,D01C100900000000,0\n2.0,4B1,,1\n"},
      {{.name = "hcrl-csv"}, "1478198376.389427,0316,8,05,21,68,09,21,21,00,6f,R\n1.0,018f,2,fe,5b,T\n"},
      {{.name = "hcrl-text"}, "Timestamp: 1479121434.850202        ID: 0350    000    DLC: 2    05 28\n"},
      {{.name = "candump"}, "(1.0) can0 110#0220\n (002.0)  can0  08FE6E0B   [2]  FF FE\n(3.0) can0 7DF#R\n"},
      {{.name = "candump", .payload = 64}, "(1.0) can0 110##0022010\n"},
      {{.name = "table", .columns = {"time", "id", "length", "byte*8", "label"}},
       "1.0,110,2,AA,BB,,,,,,,0\n"},
      {{.name = "table", .columns = {"time", "id", "-", "length", "bytes"}, .separator = "space"},
       "1.0 110 0 2 AA BB\n"},
      {{.name = "table", .columns = {"id", "payload", "..."}, .quote = "\"", .time = TimeUnit::none},
       "110,\"AA BB\",\"x,y\"\n"}};
  for (int i = 0; i < 40'000; ++i) {
    const auto& [options, lines] = good[static_cast<size_t>(i) % good.size()];
    std::string text = lines;
    for (uint32_t changes = 1 + random() % 4; changes > 0; --changes)
      text[random() % text.size()] = static_cast<char>(
          random() % 4 == 0 ? random() % 256
                            : static_cast<uint32_t>(",\n\r\t #[]()\".019aFR"[random() % 18]));
    const ParsedChunk parsed = parse_text(text, options, random() % 2 == 0);
    if (parsed.error) continue;
    const size_t frames = parsed.frames.frames();
    ASSERT_EQ(parsed.frames.can_id.size(), frames);
    ASSERT_EQ(parsed.frames.length.size(), frames);
    ASSERT_EQ(parsed.frames.label.size(), frames);
    ASSERT_EQ(parsed.frames.data.size(), frames * static_cast<size_t>(options.payload));
    for (const uint8_t length : parsed.frames.length) ASSERT_LE(length, options.payload);
  }
}

}  // namespace
}  // namespace plimsoll
