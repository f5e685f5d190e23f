#include "telemetry/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "io/file.h"
#include "memory/vector.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using Clock = SpanSink::Clock;

class TraceTest : public ::testing::Test {
 protected:
  Json events() const { return parse_json(read_text(path_)); }

  TempFolder folder_;
  const std::filesystem::path path_ = folder_ / "trace.json";
  Clock::time_point start_ = Clock::now();
};

TEST_F(TraceTest, IsJsonWithSpansTracksAndMemory) {
  Trace trace;
  trace.open(path_, "a \"run\"", 2);
  {
    const Vector<int64_t, Tag::cache> rows(1000);
    trace.span(1, "work on block", start_, start_ + std::chrono::microseconds(1500), {3, 40, 50});
  }
  trace.span(SpanSink::kRun, "step", start_, start_ + std::chrono::milliseconds(2), {});
  trace.close();
  const Json all = events();
  ASSERT_TRUE(all.is_array());
  std::vector<std::string> counters;
  int spans = 0;
  for (const Json& event : all) {
    if (event.at("ph") == "C") counters.push_back(event.at("name"));
    if (event.at("ph") != "X") continue;
    ++spans;
    if (event.at("name") != "work on block") continue;
    EXPECT_NEAR(event.at("dur").get<double>(), 1500, 0.01);
    EXPECT_EQ(event.at("args").at("nodes"), 40);
  }
  EXPECT_EQ(spans, 2);
  EXPECT_THAT(counters, testing::Contains("memory: cache"));
}

// Perfetto reads whole lines of an incomplete array, each with its comma.
TEST_F(TraceTest, IsReadableAsFarAsItWasWritten) {
  Trace trace;
  trace.open(path_, "run", 1);
  trace.span(0, "work on block", start_, start_, {1, 1, 1});
  trace.flush();
  std::string text = read_text(path_);
  ASSERT_TRUE(text.starts_with("[\n") && text.ends_with("},\n"));
  text.resize(text.size() - 2);
  EXPECT_TRUE(parse_json(text + "]").is_array());
}

TEST_F(TraceTest, HoldsItsBufferInTheLedgerAndNoMoreHoweverMuchIsWritten) {
  const int64_t before = Ledger::process().held();
  Trace trace;
  const int64_t held = Ledger::process().held() - before;
  EXPECT_GE(held, Trace::kBufferBytes);
  EXPECT_LE(held, Trace::kBufferBytes + 64);
  trace.open(path_, "run", 1);
  for (int i = 0; i < 5000; ++i) trace.span(0, "work on block", start_, Clock::now(), {1, 2, 3});
  EXPECT_EQ(Ledger::process().held() - before, held);
  trace.close();
  const Json all = events();
  EXPECT_EQ(std::ranges::count_if(all, [](const Json& event) { return event.at("ph") == "X"; }), 5000);
}

TEST_F(TraceTest, WithoutAFileDoesNothing) {
  Trace trace;
  trace.span(0, "work on block", start_, start_, {});
  trace.flush();
  trace.close();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace plimsoll
