#include "telemetry/graph_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::Not;

int count(const Markup& text, std::string_view what) {
  int found = 0;
  for (size_t at = text.find(what); at != Markup::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

GraphChart ring(int nodes) {
  GraphChart chart;
  for (int n = 0; n < nodes; ++n) {
    chart.nodes.push_back({"ID" + std::to_string(n), 1.0 / nodes, n % 2});
    chart.edges.push_back({n, (n + 1) % nodes, 1.0 / (n + 2)});
  }
  chart.legend.push_back({"known", 0});
  return chart;
}

TEST(GraphChart, DrawsNodesLabelsAndEdges) {
  const Markup drawn = draw(ring(5));
  EXPECT_EQ(count(drawn, "<polygon"), 5);
  EXPECT_EQ(count(drawn, "<text"), 5);
  EXPECT_EQ(count(drawn, "<circle"), 5 + 1) << "one in the legend";
  EXPECT_THAT(std::string(drawn), HasSubstr("ID0 to ID1: 50.0 %"));
}

TEST(GraphChart, LeavesOutLoopsEdgesWithoutAShareAndTheLeast) {
  GraphChart chart = ring(3);
  chart.edges.push_back({1, 1, 0.9});
  chart.edges.push_back({2, 1, 0});
  EXPECT_EQ(count(draw(chart), "<polygon"), 3);
  const Markup many = draw(ring(200));
  EXPECT_EQ(count(many, "<polygon"), static_cast<int>(GraphChart::kMaxEdges));
  EXPECT_THAT(std::string(many), Not(HasSubstr("ID199 to ID0")));
}

TEST(GraphChart, TheGreatestShareIsTheWidestAndOnTop) {
  const std::string drawn(draw(ring(4)));
  EXPECT_LT(drawn.find("ID3 to ID0"), drawn.find("ID0 to ID1"));
  EXPECT_THAT(drawn, HasSubstr("stroke-width=\"7.00\""));
}

TEST(GraphChart, EscapesTextsAndBearsNothing) {
  GraphChart chart = ring(2);
  chart.nodes[0].label = "<&\">";
  EXPECT_THAT(std::string(draw(chart)), Not(HasSubstr("<&")));
  EXPECT_EQ(count(draw(GraphChart{}), "<circle"), 0);
  EXPECT_EQ(count(draw(ring(1)), "<circle"), 2);
}

}  // namespace
}  // namespace plimsoll
