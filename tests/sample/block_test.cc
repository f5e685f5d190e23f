#include "sample/block/block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/random_graphs.h"

namespace plimsoll {
namespace {

TEST(Block, ShapesCountLoopsAndTheMostEdgesIntoANode) {
  RandomGraphs source(100, 5, 3);
  source.graph(7).edges = {1, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0};
  source.graph(7).edge_ptr = {0, 6};
  const auto shapes = read_shapes(source, 2);
  EXPECT_EQ(shapes[7].self_loops, 3);
  EXPECT_EQ(shapes[7].max_in, 4);
  EXPECT_EQ(shapes[7].max_in_without_loops, 2);
  for (int64_t g = 0; g < source.graphs(); ++g) {
    const GraphBlock& graph = source.graph(g);
    std::vector<int32_t> all(static_cast<size_t>(graph.nodes()));
    std::vector<int32_t> others(all.size());
    int32_t loops = 0;
    for (size_t e = 0; e < graph.edges.size(); e += 2) {
      const auto target = static_cast<size_t>(graph.edges[e + 1]);
      ++all[target];
      (graph.edges[e] == graph.edges[e + 1] ? loops : others[target]) += 1;
    }
    const GraphShape& shape = shapes[static_cast<size_t>(g)];
    EXPECT_EQ(shape.self_loops, loops) << g;
    EXPECT_EQ(shape.max_in, *std::max_element(all.begin(), all.end())) << g;
    EXPECT_EQ(shape.max_in_without_loops, *std::max_element(others.begin(), others.end())) << g;
  }
}

}  // namespace
}  // namespace plimsoll
