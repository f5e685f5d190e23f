#include "engine/blocks/lane_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plimsoll {
namespace {

// Records the order of additions as text.
struct Words {
  std::string text;
  void clear() { text.clear(); }
  void add(const Words& right) {
    if (!right.text.empty()) text = text.empty() ? right.text : "(" + text + "+" + right.text + ")";
  }
};

std::string sum_of(int64_t lanes, int64_t blocks) {
  LaneTree<Words> tree(lanes, [] { return Words(); });
  for (int batch = 0; batch < 2; ++batch) {  // The second batch starts from cleared sums.
    tree.begin(blocks);
    for (int64_t b = 0; b < blocks; ++b)
      tree.add([&](Words& sum) { sum.text += static_cast<char>('a' + b); });
    tree.end();
  }
  return tree.sum().text;
}

TEST(LaneTree, AddsLanesByABinaryTree) {
  EXPECT_EQ(sum_of(1, 5), "abcde");
  EXPECT_EQ(sum_of(2, 5), "(ab+cde)");
  EXPECT_EQ(sum_of(4, 8), "((ab+cd)+(ef+gh))");
  EXPECT_EQ(sum_of(4, 6), "((a+bc)+(d+ef))");
  EXPECT_EQ(sum_of(8, 8), "(((a+b)+(c+d))+((e+f)+(g+h)))");
}

TEST(LaneTree, LanesWithoutBlocksAddNothing) {
  EXPECT_EQ(sum_of(4, 0), "");
  EXPECT_EQ(sum_of(4, 1), "a");
  EXPECT_EQ(sum_of(4, 2), "(a+b)");
  EXPECT_EQ(sum_of(4, 3), "(a+(b+c))");
  EXPECT_EQ(sum_of(64, 3), "(a+(b+c))");
}

// Processes that divide the lanes form subtrees, which the same tree adds.
TEST(LaneTree, ProcessesCanShareIt) {
  constexpr int64_t kLanes = 16;
  for (const int64_t blocks : {1, 7, 16, 23})
    for (const int64_t processes : {2, 4, 8}) {
      std::vector<Words> parts;
      for (int64_t p = 0; p < processes; ++p) {
        // The lanes of process p are consecutive lanes of the batch.
        const int64_t first = p * blocks / processes;
        const int64_t end = (p + 1) * blocks / processes;
        std::vector<Words> lanes;
        for (int64_t l = p * kLanes / processes; l < (p + 1) * kLanes / processes; ++l) {
          Words lane;
          for (int64_t b = l * blocks / kLanes; b < (l + 1) * blocks / kLanes; ++b) {
            EXPECT_TRUE(b >= first && b < end);
            lane.text += static_cast<char>('a' + b);
          }
          lanes.push_back(lane);
        }
        for (; lanes.size() > 1; lanes.resize(lanes.size() / 2))
          for (size_t i = 0; i < lanes.size() / 2; ++i) {
            lanes[i] = lanes[2 * i];
            lanes[i].add(lanes[2 * i + 1]);
          }
        parts.push_back(lanes[0]);
      }
      for (; parts.size() > 1; parts.resize(parts.size() / 2))
        for (size_t i = 0; i < parts.size() / 2; ++i) {
          parts[i] = parts[2 * i];
          parts[i].add(parts[2 * i + 1]);
        }
      EXPECT_EQ(parts[0].text, sum_of(kLanes, blocks)) << blocks << " blocks, " << processes << " processes";
    }
}

TEST(LaneTree, HoldsAsFewSumsAsItSays) {
  EXPECT_EQ(LaneTree<Words>::sets(1), 1);
  EXPECT_EQ(LaneTree<Words>::sets(4), 3);
  EXPECT_EQ(LaneTree<Words>::sets(64), 7);
}

}  // namespace
}  // namespace plimsoll
