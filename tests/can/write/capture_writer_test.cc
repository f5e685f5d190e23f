#include "can/write/capture_writer.h"

#include <gtest/gtest.h>

#include "can/frames/frame_batch.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

class CaptureTexts : public ::testing::Test {
 protected:
  void add(int64_t time_ns, uint32_t can_id, const std::vector<uint8_t>& payload, uint8_t label) {
    batch_.time_ns.push_back(time_ns);
    batch_.can_id.push_back(can_id);
    batch_.length.push_back(static_cast<uint8_t>(payload.size()));
    for (size_t i = 0; i < kPayloadBytes; ++i) batch_.data.push_back(i < payload.size() ? payload[i] : 0);
    batch_.label.push_back(label);
  }
  std::string text(const char* format, const std::string& channel = "") const {
    File file = File::create(folder_ / "text");
    CaptureWriter writer(written_format(format), file, {});
    writer.append(batch_.spans(), channel);
    writer.finish();
    return read_bytes(folder_ / "text");
  }
  TempFolder folder_;
  FrameBatch batch_;
};

TEST_F(CaptureTexts, CsvIsTheFourColumns) {
  add(1'513'920'459'745'822'000, 0x2C0, {0x14, 0, 0, 0, 0, 0, 0, 0xFF}, 0);
  add(999'999'999'000'001'999, 0x002, {0xAB}, 1);
  add(5'000'000, 0x12345 | kCanExtended, {}, 0);
  EXPECT_EQ(text("csv"),
            "timestamp,arbitration_id,data_field,attack\n"
            "1513920459.745822,2C0,14000000000000FF,0\n"
            "999999999.000001999,002,AB,1\n"
            "0.005000,00012345,,0\n");
}

TEST_F(CaptureTexts, CandumpIsWhatCandumpLogs) {
  add(1'436'509'052'249'713'000, 0x044, {0x2A, 0x36, 0x6C, 0x2B, 0xBA}, kUnlabelled);
  add(1'000'000, 0x7FF, {}, 1);
  add(9'000'000'000'000'000'000, 0x1FFFFFFF | kCanExtended, {1, 2, 3, 4, 5, 6, 7, 8}, 0);
  add(0, 0x123 | kCanRemote, {}, 0);
  add(0, 0x4 | kCanError, {0, 1, 0, 0, 0, 0, 0, 0}, 0);
  EXPECT_EQ(text("candump"),
            "(1436509052.249713) vcan0 044#2A366C2BBA\n"
            "(0000000000.001000) vcan0 7FF#\n"
            "(9000000000.000000) vcan0 1FFFFFFF#0102030405060708\n"
            "(0000000000.000000) vcan0 123#R\n"
            "(0000000000.000000) vcan0 20000004#0001000000000000\n");
  EXPECT_EQ(text("candump", "can1").substr(0, 29), "(1436509052.249713) can1 044#");
}

TEST_F(CaptureTexts, PiecesDoNotShow) {
  for (int i = 0; i < 30'000; ++i)
    add(1'600'000'000'000'000'000 + int64_t{i} * 1'000, static_cast<uint32_t>(i % 0x800), {1, 2, 3}, 0);
  const std::string lines = text("csv");
  size_t at = lines.find('\n') + 1;
  for (int i = 0; i < 30'000; ++i) {
    const size_t end = lines.find('\n', at);
    char expected[64];
    std::snprintf(expected, sizeof expected, "1600000000.%06d,%03X,010203,0", i, i % 0x800);
    ASSERT_EQ(lines.substr(at, end - at), expected);
    at = end + 1;
  }
  EXPECT_EQ(at, lines.size());
}

TEST_F(CaptureTexts, WhatTheTextCannotTellIsAnError) {
  add(0, 0x123, {}, kUnlabelled);
  EXPECT_NE(error_text<InputError>([&] { text("csv"); }).find("255"), std::string::npos);
  batch_.clear();
  add(0, 0x123 | kCanRemote, {}, 0);
  EXPECT_THROW(text("csv"), InputError);
  batch_.clear();
  add(-1, 0x123, {}, 0);
  EXPECT_THROW(text("candump"), InputError);
  batch_.clear();
  add(0, 0x123, {}, 0);
  EXPECT_THROW(text("candump", "can 0"), InputError);
  EXPECT_THROW(text("candump", std::string(65, 'c')), InputError);
  batch_.clear();
  add(0, 0x123 | kCanRemote, {0, 0}, 0);
  EXPECT_THROW(text("candump"), InputError);
}

}  // namespace
}  // namespace plimsoll
