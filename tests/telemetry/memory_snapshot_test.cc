#include "telemetry/memory_snapshot.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

Tape two_pieces() {
  Tape tape;
  tape.pieces = {{.bytes = 64, .taken = 0, .given = 2, .operation = "linear", .module = "convs.0"},
                 {.bytes = 32, .taken = 1, .operation = "relu", .module = ""}};
  tape.events = 3;
  return tape;
}

TEST(MemorySnapshot, HasAnEventForEachAllocationAndFree) {
  const Json snapshot = memory_snapshot(two_pieces(), {64, 32}, {0, 64});
  const Json& trace = snapshot.at("device_traces").at(0);
  ASSERT_EQ(trace.size(), 3U);
  EXPECT_EQ(trace.at(0).at("action"), "alloc");
  EXPECT_EQ(trace.at(0).at("category"), "convs.0");
  EXPECT_EQ(trace.at(2).at("action"), "free_completed");
  EXPECT_EQ(trace.at(2).at("addr"), trace.at(0).at("addr"));
  const Json& segment = snapshot.at("segments").at(0);
  EXPECT_EQ(segment.at("total_size"), 96);
  ASSERT_EQ(segment.at("blocks").size(), 1U);  // The piece that is never given back.
  EXPECT_EQ(segment.at("blocks").at(0).at("size"), 32);
}

TEST(MemorySnapshot, LeavesOutPiecesOfNoBytes) {
  EXPECT_EQ(memory_snapshot(two_pieces(), {0, 32}, {0, 0}).at("device_traces").at(0).size(), 1U);
}

// Bytes of Python 3.11's pickle.dumps(value, 2) without the memo, which loading does not need.
TEST(Pickle, IsThatOfPython) {
  using namespace std::string_literals;
  EXPECT_EQ(pickled(Json{{"a", 1}}), "\x80\x02}(X\x01\0\0\0aJ\x01\0\0\0u."s);
  EXPECT_EQ(pickled(Json::array({true, nullptr, "é"})), "\x80\x02](\x88NX\x02\0\0\0\xc3\xa9"s + "e."s);
  EXPECT_EQ(pickled(Json(int64_t{1} << 32)), "\x80\x02\x8a\x08\0\0\0\0\x01\0\0\0."s);
  EXPECT_EQ(pickled(Json(-2)), "\x80\x02J\xfe\xff\xff\xff."s);
  EXPECT_EQ(pickled(Json(0.5)), "\x80\x02G\x3f\xe0\0\0\0\0\0\0."s);
}

}  // namespace
}  // namespace plimsoll
