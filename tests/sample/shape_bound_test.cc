#include "sample/neighbour/shape_bound.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plimsoll {
namespace {

TEST(ShapeBoundTest, ASizeIsAsFarAboveTheLargestAsThatIsAboveTheMean) {
  const std::vector<GraphShape> shapes = {{.nodes = 10, .edges = 5, .pairs = 7},
                                          {.nodes = 20, .edges = 5, .pairs = 7},
                                          {.nodes = 12, .edges = 9, .pairs = 7}};
  const GraphShape bound = bound_of(shapes, 0, 1, 1000);
  EXPECT_EQ(bound.nodes, 2 * 20 - 14);
  EXPECT_EQ(bound.edges, 2 * 9 - 6);
  EXPECT_EQ(bound.pairs, 7);
  EXPECT_EQ(bound.highest_node_label, -1);
  EXPECT_EQ(bound_of(shapes, 0, 1, 21).nodes, 21);
  EXPECT_EQ(bound_of(shapes, 1, 2, 1000).nodes, 20) << "only the second of each pair";
}

// Blocks of 128 seeds, each of which reaches up to 100 nodes.
TEST(ShapeBoundTest, NoLaterBlockIsLarger) {
  std::mt19937_64 random(3);
  const auto draw = [&] {
    GraphShape shape;
    for (int seed = 0; seed < 128; ++seed) shape.nodes += static_cast<int32_t>(random() % 100);
    return shape;
  };
  std::vector<GraphShape> shapes(256);
  for (GraphShape& shape : shapes) shape = draw();
  const GraphShape bound = bound_of(shapes, 0, 1, 1'000'000);
  for (int block = 0; block < 100'000; ++block) ASSERT_LE(draw().nodes, bound.nodes);
  EXPECT_LT(bound.nodes, 128 * 100) << "less than all seeds could reach";
}

}  // namespace
}  // namespace plimsoll
