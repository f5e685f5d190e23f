#include "sample/neighbour/node_id_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;

TEST(NodeIdMap, NumbersNodesInTheOrderInWhichTheyCome) {
  NodeIdMap table;
  NodeIdMap::Column node;
  NodeIdMap::Column tree;
  table.begin(node, tree, false);
  EXPECT_EQ(table.find(7, 0), NodeIdMap::kNone);
  EXPECT_EQ(table.find_or_add(7, 0), 0);
  EXPECT_EQ(table.find_or_add(3, 1), 1);
  EXPECT_EQ(table.find_or_add(7, 2), 0);
  EXPECT_EQ(table.find(3, 5), 1);
  EXPECT_THAT(node, ElementsAre(7, 3));
  EXPECT_THAT(tree, ElementsAre(0, 1));
}

TEST(NodeIdMap, ADisjointBatchHasANumberForEachTree) {
  NodeIdMap table;
  NodeIdMap::Column node;
  NodeIdMap::Column tree;
  table.begin(node, tree, true);
  EXPECT_EQ(table.find_or_add(7, 0), 0);
  EXPECT_EQ(table.find_or_add(7, 1), 1);
  EXPECT_EQ(table.find_or_add(7, 0), 0);
  EXPECT_EQ(table.find(7, 2), NodeIdMap::kNone);
}

// Nodes from all 64-bit numbers that collide in few slots.
TEST(NodeIdMap, GrowsAndKeepsAllNumbers) {
  NodeIdMap table;
  for (int batch = 0; batch < 2; ++batch) {
    NodeIdMap::Column node;
    NodeIdMap::Column tree;
    table.begin(node, tree, false);
    for (int64_t i = 0; i < 10'000; ++i) ASSERT_EQ(table.find_or_add(i << (i % 40), 0) <= i, true);
    for (size_t number = 0; number < node.size(); ++number)
      ASSERT_EQ(table.find(node[number], 0), static_cast<int64_t>(number));
  }
}

TEST(NodeIdMap, ItsMemoryStandsInTheLedger) {
  const LedgerCap cap(3000);
  NodeIdMap table;
  NodeIdMap::Column node;
  NodeIdMap::Column tree;
  EXPECT_THROW(table.begin(node, tree, false), BudgetExceeded);
}

TEST(NodeIdMap, ANodeThatOccursTwiceHasTheFirstOfItsNumbers) {
  NodeIdMap::Column node = {5, 7, 5}, tree = {0, 1, 2};
  NodeIdMap table;
  table.begin(node, tree, false);
  EXPECT_EQ(table.find(5, 0), 0);
  for (int64_t more = 100; more < 5000; ++more) table.find_or_add(more, 0);  // The table grows.
  EXPECT_EQ(table.find_or_add(5, 1), 0);
  EXPECT_EQ(table.find(7, 0), 1);
}

}  // namespace
}  // namespace plimsoll
