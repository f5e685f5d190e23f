#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "sample/neighbour/neighbour_source.h"
#include "support/graph_folder.h"
#include "support/temp_folder.h"

namespace plimsoll {

inline constexpr int64_t kFeatures = 512;  // Wide enough to make a small cache small.

/// Blocks of seeds of one graph whose features are its nodes' numbers.
class NeighbourBlocksTest : public testing::Test {
 protected:
  NeighbourBlocksTest() : graph_(skewed_graph(600, 4)) { write_graph(folder_ / "graph", graph_, kFeatures); }

  NeighbourSource open(uint64_t seed = 5, const char* graph = "graph", const ScratchSpace& scratch = {},
                       int64_t epochs = 2, bool row_places = false) const {
    return {folder_ / graph,
            {.neighbours = {.fan_outs = {4, 3}},
             .blocks = {.epochs = epochs, .batch_size = 64, .block_seeds = 16, .seed = seed},
             .seed = seed,
             .scratch = scratch,
             .row_places = row_places}};
  }
  // Returns the blocks of a run in order: each epoch, followed by the validation blocks.
  static std::vector<int64_t> run_order(const NeighbourSource& source, int64_t epochs) {
    std::vector<int64_t> order;
    const int64_t epoch = source.blocks().per_epoch();
    for (int64_t round = 0; round < epochs; ++round) {
      for (int64_t b = 0; b < epoch; ++b) order.push_back(round * epoch + b);
      for (const int64_t b : source.blocks().numbers(1)) order.push_back(b);
    }
    return order;
  }
  static GraphBlock block(const NeighbourSource& source, int64_t number) {
    GraphBlock block;
    source.read(std::span(&number, 1), block);
    return block;
  }

  // Waits until the thread has sampled `planned` blocks ahead.
  static void wait_for(const NeighbourSource& source, int64_t planned) {
    for (int i = 0; i < 10'000 && source.planned() < planned; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_GE(source.planned(), planned);
  }

  TempFolder folder_;
  GiantGraph graph_;
};

inline void expect_equal(const GraphBlock& a, const GraphBlock& b) {
  EXPECT_EQ(a.graph, b.graph);
  EXPECT_EQ(a.edges, b.edges);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.edge_attr, b.edge_attr);
  EXPECT_EQ(a.node_y, b.node_y);
  ASSERT_EQ(a.prefixes.size(), b.prefixes.size());
  for (size_t p = 0; p < a.prefixes.size(); ++p) {
    EXPECT_EQ(a.prefixes[p].nodes, b.prefixes[p].nodes);
    EXPECT_EQ(a.prefixes[p].edges, b.prefixes[p].edges);
  }
}

}  // namespace plimsoll
