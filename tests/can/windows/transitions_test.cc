#include "can/windows/transitions.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace plimsoll {
namespace {

// Compares group() with the same grouping made with a map.
TEST(Transitions, GroupsRowsByPair) {
  std::mt19937 random(7);
  Transitions transitions;
  for (const size_t count : {0, 1, 2, 50, 400, 3}) {
    const size_t nodes = 1 + random() % 20;
    std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> expected;
    transitions.rows.clear();
    for (size_t p = 0; p < count; ++p) {
      transitions.rows.push_back(
          {static_cast<int32_t>(random() % nodes), static_cast<int32_t>(random() % nodes)});
      expected[{transitions.rows[p].source, transitions.rows[p].target}].push_back(static_cast<int32_t>(p));
    }
    transitions.group(nodes);
    ASSERT_EQ(transitions.edges().size(), expected.size());
    auto next = expected.begin();
    for (const Transitions::Edge& edge : transitions.edges()) {
      EXPECT_EQ(std::pair(edge.source, edge.target), next->first);
      const auto positions = transitions.positions(edge);
      EXPECT_EQ(std::vector<int32_t>(positions.begin(), positions.end()), next->second);
      EXPECT_EQ(edge.has_reverse, expected.contains({edge.target, edge.source}));
      ++next;
    }
  }
}

}  // namespace
}  // namespace plimsoll
