#include "telemetry/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/units.h"
#include "telemetry/report.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Axis unit_axis(const std::string& label) {
  Axis axis;
  axis.label = label;
  return axis;
}

std::string text(const Markup& markup) {
  return {markup.begin(), markup.end()};
}

TEST(Axis, TicksAreRoundNumbersWithinIt) {
  EXPECT_THAT(ticks({"", 0, 1, Axis::Scale::linear, false}),
              ElementsAre(0, testing::DoubleNear(0.2, 1e-12), testing::DoubleNear(0.4, 1e-12),
                          testing::DoubleNear(0.6, 1e-12), testing::DoubleNear(0.8, 1e-12),
                          testing::DoubleNear(1, 1e-12)));
  EXPECT_THAT(ticks({"", -11.2, 9.9, Axis::Scale::linear, false}), ElementsAre(-10, -5, 0, 5));
  Axis epochs = unit_axis("epoch");
  epochs.low = 1;
  epochs.high = 4;
  epochs.whole = true;
  EXPECT_THAT(ticks(epochs), ElementsAre(1, 2, 3, 4));
  const auto decades = ticks({"", 1e-4, 1, Axis::Scale::log, false});
  ASSERT_EQ(decades.size(), 5U);
  EXPECT_NEAR(decades[1], 1e-3, 1e-12);
  EXPECT_EQ(ticks({"", 0.1, 10, Axis::Scale::log, false}).size(), 7U);  // 0.1, 0.2, 0.5, ... 10.
  EXPECT_LE(ticks({"", 1e-30, 1, Axis::Scale::log, false}).size(), 8U);
}

TEST(Axis, IsLogarithmicWhereValuesSpanALot) {
  const Axis narrow = axis_over("loss", {0.4, 0.2, 0.3});
  EXPECT_EQ(narrow.scale, Axis::Scale::linear);
  EXPECT_EQ(narrow.low, 0);
  const Axis wide = axis_over("loss", {0.5, 0.002});
  EXPECT_EQ(wide.scale, Axis::Scale::log);
  EXPECT_DOUBLE_EQ(wide.low, 0.001);
  EXPECT_DOUBLE_EQ(wide.high, 1);
  EXPECT_EQ(axis_over("loss", {-1, 5, 1e-9}).scale, Axis::Scale::linear);
  const Axis empty = axis_over("loss", {std::numeric_limits<double>::quiet_NaN()});
  EXPECT_LT(empty.low, empty.high);
}

TEST(Chart, EscapesWhatComesFromOutside) {
  const std::string evil = "<script>\"&'";
  LineChart lines{
      unit_axis(evil), unit_axis(evil), {{evil, {}, {{0, 0}, {1, 1}}}}, {{{0, 0}, 0, true, evil}}};
  Histogram histogram;
  histogram.x = unit_axis(evil);
  histogram.series.push_back({evil, 0, {1, 2}});
  histogram.levels.push_back({0.5, evil});
  ByteBars bars{{{evil, {{evil, kMiB}}, kMiB}}, evil, 2 * kMiB};
  for (const Markup& chart : {draw(lines), draw(histogram), draw(bars)}) {
    EXPECT_THAT(text(chart), Not(HasSubstr("<script")));
    EXPECT_THAT(text(chart), HasSubstr("&lt;script&gt;&quot;&amp;"));
  }
  EXPECT_EQ(escaped("a\x01z\tb"), "a\xEF\xBF\xBDz\tb");
}

TEST(Chart, WhatLiesBeyondAnAxisIsDrawnAtItsEndAndNothingIsNotANumber) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  LineChart chart;
  chart.x = unit_axis("x");
  chart.x.low = 1e-4;
  chart.x.scale = Axis::Scale::log;
  chart.y = unit_axis("y");
  chart.series.push_back({"s", {}, {{0, 0}, {none, 0.5}, {0.01, none}, {0.01, 7}, {5, 0.5}}, false});
  const std::string drawn = text(draw(chart));
  EXPECT_THAT(drawn, Not(HasSubstr("nan")));
  EXPECT_THAT(drawn, HasSubstr("M58.0 252.0L237.0 22.0L416.0 137.0"));
  Histogram empty;
  empty.x = unit_axis("x");
  EXPECT_THAT(text(draw(empty)), Not(HasSubstr("nan")));
  empty.series.push_back({"s", 0, {0, 0}});
  EXPECT_THAT(text(draw(empty)), Not(HasSubstr("nan")));
  EXPECT_THAT(text(draw(Confusion{})), Not(HasSubstr("nan")));
}

TEST(Chart, StepsHoldTheirValueUntilTheNextPoint) {
  LineChart chart{unit_axis("x"), unit_axis("y"), {{"", {}, {{0, 0}, {1, 1}}, true}}, {}};
  EXPECT_THAT(text(draw(chart)), HasSubstr("M58.0 252.0L416.0 252.0L416.0 22.0"));
}

TEST(Chart, StackedAreasTellTheirValuesWhereAReaderPoints) {
  StackedAreas chart;
  chart.x = {"step", 0, 4, Axis::Scale::linear};
  chart.y = {"MiB", 0, 4, Axis::Scale::linear};
  chart.at = {0, 2, 3.999, 3.9995};
  chart.series = {{"a<b", {1, 2, 0, 0}}, {"c", {0, 1.5, 1, 2}}};
  const std::string drawn = text(draw(chart));
  const auto strip = [](const std::string& x, const std::string& width, const std::string& title) {
    return HasSubstr("<rect class=\"strip\" x=\"" + x + "\" y=\"22\" width=\"" + width +
                     "\" height=\"230\"><title>" + title + "</title></rect>");
  };
  EXPECT_THAT(drawn, strip("58.0", "179.0", "step 0: 1 MiB\na&lt;b: 1 MiB"));
  EXPECT_THAT(drawn, strip("237.0", "178.9", "step 2: 3.5 MiB\nc: 1.5 MiB\na&lt;b: 2 MiB"));
  // Two steps of less than a unit share a strip, with the values of the higher one.
  EXPECT_THAT(drawn, strip("415.9", "0.1", "step 3.9995: 2 MiB\nc: 2 MiB"));
  EXPECT_THAT(drawn, HasSubstr("a&lt;b, up to 2 MiB"));
  EXPECT_THAT(drawn, Not(HasSubstr("<script")));
}

TEST(Chart, ABudgetOutOfSightIsToldInWords) {
  const ByteBars near{{{"gat", {{"floor", 60 * kMiB}, {"slab", 20 * kMiB}}, {}}}, "budget", 128 * kMiB};
  EXPECT_THAT(text(draw(near)), HasSubstr("class=\"level\""));
  const ByteBars far{{{"gat", {{"floor", 60 * kMiB}}, {}}}, "budget", 20 * kGiB};
  EXPECT_THAT(text(draw(far)), Not(HasSubstr("class=\"level\"")));
  EXPECT_THAT(text(draw(far)), HasSubstr("budget 20 GiB, far to the right"));
}

TEST(Chart, WhatWasMeasuredIsAMarkOnItsBar) {
  const ByteBars bars{
      {{"gat", {{"floor", 60 * kMiB}}, 30 * kMiB}, {"vgae", {{"floor", kMiB}}, {}}}, "budget", {}};
  const std::string drawn = text(draw(bars));
  EXPECT_THAT(drawn, HasSubstr("gat: 60 MiB, measured 30 MiB"));
  EXPECT_THAT(drawn, HasSubstr("vgae: 1 MiB<"));
  EXPECT_THAT(drawn, HasSubstr("class=\"measured\" x1=\"206.1\""));
}

TEST(Chart, FaintLinesLieBelowTheOthers) {
  const Stroke faint{1, false, true};
  LineChart chart{unit_axis("x"), unit_axis("y"), {{"first", {}, {{0, 0}}}, {"", faint, {{0, 0}}}}, {}};
  const std::string drawn = text(draw(chart));
  EXPECT_LT(drawn.find("line c1 faint"), drawn.find("line c0"));
}

TEST(Report, NeedsNoOtherFileAndEscapes) {
  Report report("a <run>", "b & c");
  report.section("first \"section\"");
  report.paragraph("1 < 2");
  report.table({{"<name", "value"},
                {{{"group <b>"}, Report::Table::Kind::group}, {{"<i>", "1"}, Report::Table::Kind::aside}}});
  report.begin_details("more");
  report.preformatted("x: <y>");
  report.end_details();
  const std::string page = text(report.html());
  for (const char* hostile : {"<run>", "<b>", "<i>", "<y>", "http", "<script", "src=", "url("})
    EXPECT_THAT(page, Not(HasSubstr(hostile)));
  EXPECT_THAT(page, HasSubstr("<a href=\"#s1\">first &quot;section&quot;</a>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"left\">&lt;i&gt;</td><td>1</td>"));
}

}  // namespace
}  // namespace plimsoll
