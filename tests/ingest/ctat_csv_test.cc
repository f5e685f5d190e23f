#include "ingest/ctat_csv.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "base/error.h"

namespace plimsoll {
namespace {

struct Frame {
  int64_t time_ns;
  uint32_t can_id;
  std::vector<uint8_t> payload;
  uint8_t label;
};

Frame frame_at(const FrameBatch& batch, size_t i) {
  const auto first = batch.data.begin() + static_cast<int64_t>(i) * kPayloadBytes;
  return {batch.time_ns[i], batch.can_id[i], {first, first + batch.length[i]}, batch.label[i]};
}

FrameBatch parse(const std::string& text, CsvTraps* traps = nullptr) {
  CtatCsvParser parser("capture.csv");
  FrameBatch batch;
  parser.parse(text, true, batch);
  if (traps != nullptr) *traps = parser.traps();
  return batch;
}

std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

constexpr const char* kHeader = "timestamp,arbitration_id,data_field,attack\n";

// One line read the slow way, with the library's own parsers.
Frame slow_parse(const std::string& line) {
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
  Frame frame{std::stoll(time.substr(0, point)) * 1'000'000'000 + std::stoll(fraction),
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

TEST(CtatCsv, AgreesWithASlowReferenceOnRandomLinesInAnyPieces) {
  std::mt19937 random(1);
  std::vector<std::string> lines;
  std::string text = kHeader;
  for (int i = 0; i < 20'000; ++i) {
    lines.push_back(random_line(random));
    text += lines.back() + "\n";
  }
  CtatCsvParser parser("capture.csv");
  FrameBatch batch;
  for (size_t at = 0; at < text.size();) {
    const size_t end =
        std::min(text.find('\n', std::min(text.size() - 1, at + random() % 5000)) + 1, text.size());
    parser.parse(std::string_view(text).substr(at, end - at), end == text.size(), batch);
    at = end;
  }
  ASSERT_EQ(batch.spans().size(), static_cast<int64_t>(lines.size()));
  for (size_t i = 0; i < lines.size(); ++i) {
    const Frame expected = slow_parse(lines[i]);
    const Frame found = frame_at(batch, i);
    ASSERT_EQ(found.time_ns, expected.time_ns) << lines[i];
    ASSERT_EQ(found.can_id, expected.can_id) << lines[i];
    ASSERT_EQ(found.payload, expected.payload) << lines[i];
    ASSERT_EQ(found.label, expected.label) << lines[i];
    for (size_t k = found.payload.size(); k < kPayloadBytes; ++k)
      ASSERT_EQ(batch.data[i * kPayloadBytes + k], 0);
  }
}

TEST(CtatCsv, TrapsAreHandledOnPurposeAndCounted) {
  CsvTraps traps;
  const FrameBatch batch = parse(
      "timestamp,arbitration_id,data_field,attack\r\n"
      "2.5,1ED,614008F208E870DE\t,1\n"
      "2.4,1ED,ABC,0\n"
      "2.6,000,,0\r\n"
      "\n"
      "  \t\n"
      "2.7,7FF,00,0",
      &traps);
  ASSERT_EQ(batch.spans().size(), 4);
  EXPECT_EQ(frame_at(batch, 0).payload,
            (std::vector<uint8_t>{0x61, 0x40, 0x08, 0xF2, 0x08, 0xE8, 0x70, 0xDE}));
  EXPECT_EQ(frame_at(batch, 1).payload, (std::vector<uint8_t>{0xAB}));
  EXPECT_EQ(frame_at(batch, 2).payload, (std::vector<uint8_t>{}));
  EXPECT_EQ(frame_at(batch, 3).time_ns, 2'700'000'000);
  EXPECT_EQ(traps.to_json(), (Json{{"odd_payload", 1},
                                   {"trimmed_payload", 1},
                                   {"empty_payload", 1},
                                   {"time_runs_back", 1},
                                   {"blank_lines", 2},
                                   {"crlf_lines", 2}}));
}

TEST(CtatCsv, AFileWithoutAHeaderIsRead) {
  EXPECT_EQ(parse("1.0,110,00,0\n").spans().size(), 1);
}

TEST(CtatCsv, ErrorsNameFileLineAndColumn) {
  const std::string head = kHeader;
  EXPECT_EQ(error_of(head + "1.0,110,00,0\n1.0,11G,00,0\n"),
            "capture.csv:3:7: found 'G,00,0', expected a CAN ID in hex without prefix");
  EXPECT_EQ(error_of(head + "1.0,110,0X,0\n").substr(0, 35), "capture.csv:2:10: found 'X,0', expe");
  EXPECT_EQ(error_of(head + "1.0,110,00\n").substr(0, 36), "capture.csv:2:11: found '', expected");
  EXPECT_EQ(error_of(head + "1.0,110,00,0,0\n").substr(0, 33), "capture.csv:2:13: found ',0', exp");
  EXPECT_EQ(error_of(head + "1.0,110,00,2\n").substr(0, 31), "capture.csv:2:12: found '2', ex");
  EXPECT_EQ(error_of(head + "yesterday,110,00,0\n").substr(0, 26), "capture.csv:2:1: found 'ye");
}

TEST(CtatCsv, ImpossibleValuesAreErrors) {
  for (const char* line : {"1.0,,00,0", "1.0,20000000,00,0", "1.0,110,001122334455667788,0", "-1,110,00,0",
                           "1e9,110,00,0", "1.0,0x110,00,0", "1.0,110,0 0,0", "1.0,110,00,",
                           "99999999999,110,00,0", "1.0123456789,110,00,0", "\xff\xfe,110,00,0", ",,,", ","})
    EXPECT_NE(error_of(std::string(kHeader) + line + "\n"), "no error") << line;
}

TEST(CtatCsv, ALineThatTheFileEndsInIsNamedAsCutOff) {
  EXPECT_NE(error_of(std::string(kHeader) + "1.0,110,00,0\n1.1,11").find("the file ends inside this line"),
            std::string::npos);
  EXPECT_EQ(error_of(std::string(kHeader) + "1.0,11G,00,0\n").find("the file ends inside"),
            std::string::npos);
}

TEST(CtatCsv, AnyBytesGiveFramesOrAnInputError) {
  std::mt19937 random(2);
  const std::string good = std::string(kHeader) + "1513920254.785127,110,D01C100900000000,0\n2.0,4B1,,1\n";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (uint32_t changes = 1 + random() % 4; changes > 0; --changes)
      text[random() % text.size()] =
          static_cast<char>(random() % 4 == 0 ? random() % 256 : ",\n\r\t.019aF"[random() % 11]);
    try {
      const FrameBatch batch = parse(text);
      ASSERT_EQ(batch.data.size(), batch.length.size() * kPayloadBytes);
      ASSERT_EQ(batch.time_ns.size(), batch.length.size());
    } catch (const InputError&) {
    }
  }
}

}  // namespace
}  // namespace plimsoll
