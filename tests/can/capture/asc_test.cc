#include <gtest/gtest.h>

#include "can/capture/asc_date.h"
#include "can/capture/formats.h"
#include "support/parse_text.h"

namespace plimsoll {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr int64_t kSecond = 1'000'000'000;
constexpr const char* kHeader = "date Mon Mar 7 13:21:51.500 2022\nbase hex  timestamps absolute\n";
constexpr int64_t kStart = 1'646'659'311'500'000'000;

FrameBatch frames_of(const std::string& lines, int64_t payload = 64) {
  const std::string text = kHeader + lines;
  const ParsedChunk parsed = parse_text(text, {.payload = payload});
  EXPECT_FALSE(parsed.error) << error_of(text, {.payload = payload});
  return parsed.frames;
}

uint8_t flags_of(const FrameBatch& frames, size_t i) {
  return frames.flags.empty() ? uint8_t{0} : frames.flags[i];
}

TEST(AscDate, MonthsOfSixLanguages) {
  const auto month = [](const std::string& name) {
    const auto date = parse_asc_date("Xx " + name + " 2 00:00:00 1971");
    return date ? (*date / (86'400 * kSecond) - 365) / 30 + 1 : 0;
  };
  const std::vector<std::vector<std::string>> names = {
      {"Jan", "Januar", "J\xC3\xA4n", "J\xE4nner", "janv.", "ene", "gen", "janeiro"},
      {"Feb", "Februar", "f\xC3\xA9vr.", "f\xE9v", "febrero", "febbraio", "fev"},
      {"Mar", "M\xC3\xA4r", "M\xE4rz", "Mrz", "MRZ", "mars", "marzo", "mar\xC3\xA7o", "mar\xE7o"},
      {"Apr", "avr.", "abr", "aprile", "avril"},
      {"May", "Mai", "mayo", "mag", "maio"},
      {"Jun", "juin", "Juni", "giu", "junho"},
      {"Jul", "juil.", "Juli", "lug", "julho", "juillet"},
      {"Aug", "ao\xC3\xBBt", "ao\xFBt", "ago"},
      {"Sep", "Sept.", "set", "septiembre"},
      {"Oct", "Okt", "ott", "out", "octobre"},
      {"Nov", "nov.", "Novembre"},
      {"Dec", "Dez",
       "d\xC3\xA9"
       "c.",
       "d\xE9"
       "c",
       "dic", "dezembro"}};
  for (size_t m = 0; m < names.size(); ++m)
    for (const std::string& name : names[m]) EXPECT_EQ(month(name), static_cast<int64_t>(m + 1)) << name;
  for (const char* name : {"jui", "foo", "ma", "7", ""}) EXPECT_EQ(month(name), 0) << name;
}

TEST(AscDate, WordsInAnyOrder) {
  for (const char* text :
       {"Mon Mar 7 13:21:51.500 2022", "Mo M\xE4r 7 13:21:51.500 2022", "lun. 7 mars 2022 13:21:51,500",
        "Mon Mar 7 01:21:51.500 pm 2022", "lun mar 7 01:21:51.500 p. m. 2022",
        "lun mar 7 01:21:51.500 p.\xC2\xA0m. 2022", "07.03.2022 13:21:51.500", "2022-03-07 13:21:51.500",
        "Mo, 7. M\xC3\xA4rz 2022 13:21:51.500 Uhr"})
    EXPECT_EQ(parse_asc_date(text).value_or(0), kStart) << text;
  // A Tuesday may be spelled like a month.
  EXPECT_EQ(parse_asc_date("mar mar 8 00:00:00 2022").value_or(0), 1'646'697'600 * kSecond);
  EXPECT_EQ(parse_asc_date("mar. 7 juin 00:00:00 2022").value_or(0), 1'654'560'000 * kSecond);
  EXPECT_EQ(parse_asc_date("Mon Jan 1 12:00:00 am 2018").value_or(0), 1'514'764'800 * kSecond);
  for (const char* text : {"", "Mon", "Mon Foo 7 13:21:51 2022", "Mon Feb 30 13:21:51 2022", "Mon Mar 7 2022",
                           "Mon Mar 7 25:00:00 2022", "Mon Mar 7 13:21:51 1969"})
    EXPECT_FALSE(parse_asc_date(text)) << text;
}

TEST(Asc, ADateThatIsNotUnderstoodIsSaidAndCounted) {
  std::vector<std::string> warnings;
  FormatOptions options;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  const std::string text = "date Mo Foo 7 13:21:51.500 2022\nbase hex\n0.1 1 123 Rx d 1 00\n";
  EXPECT_EQ(parse_text(text, options).notes.unknown_date, 1);
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_NE(warnings[0].find("capture:1: the date 'Mo Foo 7 13:21:51.500 2022' is not understood"),
            std::string::npos);
  // The trigger block has the same date, so no warning is given if the file has none.
  const std::string block = "Begin Triggerblock Mon Mar 7 13:21:51.500 2022\n0.1 1 123 Rx d 1 00\n";
  EXPECT_EQ(parse_text("date Mo Foo 7\nbase hex\n" + block, options).frames.time_ns[0],
            kStart + kSecond / 10);
  parse_text("base hex\nBegin Triggerblock\n0.1 1 123 Rx d 1 00\n", options);
  EXPECT_EQ(warnings.size(), 1);
}

TEST(Asc, TimesMayBeNegative) {
  EXPECT_EQ(frames_of("  -0.000250 1  123 Rx d 1 00\n").time_ns[0], kStart - 250'000);
  EXPECT_EQ(frames_of("-1.5 1 ErrorFrame\n").time_ns[0], kStart - kSecond * 3 / 2);
  // Without a date, times count from the earliest one.
  const ParsedChunk parsed =
      parse_text("base hex\n-0.5 1 123 Rx d 1 00\n-0.25 1 123 Rx d 1 00\n0.1 1 123 Rx d 1 00\n");
  EXPECT_EQ(std::vector<int64_t>(parsed.frames.time_ns.begin(), parsed.frames.time_ns.end()),
            (std::vector<int64_t>{0, kSecond / 4, kSecond * 6 / 10}));
  EXPECT_EQ(parsed.notes.shifted_time, 3);
}

TEST(Asc, FlagsOfALineTellClassicFramesFromCanFd) {
  const FrameBatch frames = frames_of(
      "0.1 CANFD 1 Rx 14e Name 0 0 8 8 00 00 00 00 00 00 00 00 242136 125 200000 dbc 4650\n"
      "0.2 CANFD 1 Tx 18FEF100x 1 0 2 2 01 02 230199 119 303000 62e7\n"
      "0.3 CANFD 1 Rx 123 0 0 0 0 130000 130 10 0 0 0 0 0\n"
      "0.4 CANFD 1 Rx 123 0 0 8 0 130000 130 10 0 0 0 0 0\n"
      "0.5 CANFD 1 Rx 123 0 0 0 0 130000 130 7000 0 0 0 0 0\n"
      "0.6 CANFD 1 Rx 123 1 0 1 1 00\n");
  ASSERT_EQ(frames.frames(), 6);
  EXPECT_EQ(flags_of(frames, 0), 0);
  EXPECT_EQ(flags_of(frames, 1), kFrameFd | kFrameBrs | kFrameSent);
  EXPECT_EQ(frames.can_id[2], 0x123U | kCanRemote);
  EXPECT_EQ(frames.can_id[3], 0x123U | kCanRemote);
  EXPECT_EQ(frames.can_id[4], 0x123U);
  EXPECT_EQ(flags_of(frames, 4), kFrameFd | kFrameBrs | kFrameEsi);
  EXPECT_EQ(flags_of(frames, 5), kFrameFd | kFrameBrs);
}

TEST(Asc, LinesOfCanXlHoldOtherFramesToo) {
  const FrameBatch frames = frames_of(
      "59.1 CANXL 2 Rx CBFF 243215 176 432 msgCanCCTest1 f 8 e1 89 e8 c2 b9 6d 5a f1 174 00000000 0\n"
      "59.2 CANXL 2 Rx FEFF 243215 176 432 9 12 e1 89 e8 c2 b9 6d 5a f1 11 22 33 44 a 12345 00003000 0\n"
      "59.3 CANXL 2 Tx CEFF 243215 176 12345 4 0 174 00000010 0\n");
  ASSERT_EQ(frames.frames(), 3);
  EXPECT_EQ(frame_at(frames, 0).payload, (Bytes{0xe1, 0x89, 0xe8, 0xc2, 0xb9, 0x6d, 0x5a, 0xf1}));
  EXPECT_EQ(frame_at(frames, 1).payload.size(), 12);
  EXPECT_EQ(frames.can_id[1], 0x432U | kCanExtended);
  EXPECT_EQ(flags_of(frames, 1), kFrameFd | kFrameBrs);
  EXPECT_EQ(frames.can_id[2], 0x12345U | kCanExtended | kCanRemote);
  EXPECT_NE(
      error_of(std::string(kHeader) + "59.1 CANXL 2 Rx XLFF 984438 4656 432 e0 0 1fe 511\n").find("CAN XL"),
      std::string::npos);
}

TEST(Asc, BytesAfterTheEighthAreReadOrCounted) {
  const std::string twelve = "12 34 56 78 90 AB CD EF 12 34 56 78";
  for (const char* dlc : {"9", "12"}) {
    const FrameBatch frames = frames_of(fmt::format("0.1 1 123 Rx d {} {}\n", dlc, twelve));
    EXPECT_EQ(frames.length[0], 12) << dlc;
    EXPECT_EQ(flags_of(frames, 0), kFrameFd) << dlc;
  }
  EXPECT_EQ(frames_of("0.1 1 123 Rx d 10 " + twelve + " 9A BC DE F0\n").length[0], 16);
  EXPECT_EQ(frames_of("0.1 1 123 Rx d a " + twelve + " 9A BC DE F0\n").length[0], 16);
  // With 8 payload bytes, longer frames are an error, and a classic frame keeps its eight bytes.
  EXPECT_NE(error_of(kHeader + ("0.1 1 123 Rx d 9 " + twelve) + "\n").find("--payload 64"),
            std::string::npos);
  EXPECT_EQ(frames_of("0.1 1 123 Rx d D 12 34 56 78 90 AB CD EF  Length = 1 BitCount = 2 ID = 3\n").length[0],
            8);
  const ParsedChunk parsed =
      parse_text(kHeader + ("0.1 1 123 Rx d 8 " + twelve) + "\n0.2 1 123 Rx d 1 12 34\n");
  EXPECT_EQ(parsed.notes.extra_bytes, 2);
  EXPECT_EQ(parsed.frames.length[0], 8);
}

TEST(Asc, OnlyAnXMakesAnIdExtended) {
  const ParsedChunk parsed =
      parse_text(kHeader + std::string("0.1 1 00000123 Rx d 1 00\n0.2 1 00000123x Rx d 1 00\n"
                                       "0.3 1 18FEF100 Rx d 1 00\n"));
  EXPECT_EQ(parsed.frames.can_id[0], 0x123U);
  EXPECT_EQ(parsed.frames.can_id[1], 0x123U | kCanExtended);
  EXPECT_EQ(parsed.frames.can_id[2], 0x18FEF100U | kCanExtended);
  EXPECT_EQ(parsed.notes.unmarked_id, 1);
}

TEST(Asc, NeedsNoHeader) {
  EXPECT_EQ(CaptureFormat::make({}, "// version 7.2.0\n   2.501 2  C8x Rx d 1 09\n", "f")->name(), "asc");
  EXPECT_EQ(
      CaptureFormat::make({}, "\n\nDate Mon Mar 7 13:21:51.500 2022\n 2.5 2 C8x Rx d 1 09\n", "f")->name(),
      "asc");
  EXPECT_THROW(CaptureFormat::make({}, "1 2 3\n4 5 6\n", "f"), InputError);
}

}  // namespace
}  // namespace plimsoll
