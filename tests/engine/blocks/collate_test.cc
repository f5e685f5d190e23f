#include "engine/blocks/collate.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/odd_graphs.h"

namespace plimsoll {
namespace {

std::vector<int64_t> values(const at::Tensor& tensor, int64_t count) {
  return {tensor.const_data_ptr<int64_t>(), tensor.const_data_ptr<int64_t>() + count};
}

TEST(Collate, ListsTheIdsThatEachNodePointsTo) {
  const OddGraphs source(3, std::vector<int64_t>{40, 1, -7, 3, 25});
  const GraphBlock& block = source.block();
  std::map<int64_t, std::set<int64_t>> expected;
  for (int64_t g = 0; g < block.graphs(); ++g) {
    const auto at = static_cast<size_t>(g);
    for (int64_t e = block.edge_ptr[at]; e < block.edge_ptr[at + 1]; ++e) {
      const int64_t from = block.node_ptr[at] + block.edges[static_cast<size_t>(2 * e)];
      const int64_t to = block.node_ptr[at] + block.edges[static_cast<size_t>(2 * e + 1)];
      expected[from].insert(static_cast<int64_t>(block.x[static_cast<size_t>(to * OddGraphs::kFeatures)]));
    }
  }
  const Batch batch = collate(block, {OddGraphs::kFeatures, OddGraphs::kFeatures},
                              {.items = Items::nodes, .neighbour_ids = true});
  EXPECT_EQ(batch.item_count, block.nodes());
  EXPECT_EQ(batch.neighbour_ids.size(0), block.edge_count());
  const auto ptr = values(batch.neighbour_ptr, block.nodes() + 1);
  const auto ids = values(batch.neighbour_ids, ptr.back());
  EXPECT_LT(ptr.back(), block.edge_count()) << "no edge came twice: a weak test";
  for (int64_t n = 0; n < block.nodes(); ++n) {
    const auto at = static_cast<size_t>(n);
    const std::vector<int64_t> expected_ids(expected[n].begin(), expected[n].end());
    EXPECT_EQ(std::vector(ids.begin() + ptr[at], ids.begin() + ptr[at + 1]), expected_ids) << "node " << n;
  }
}

TEST(Collate, ABlockOfNoNodesAndNoEdgesHasEmptyLists) {
  GraphBlock block;
  block.clear();
  block.graph.push_back(0);
  block.node_ptr.push_back(0);
  block.edge_ptr.push_back(0);
  block.y.push_back(1);
  const Batch batch = collate(block, {3, 3}, {.neighbour_ids = true});
  EXPECT_EQ(values(batch.neighbour_ptr, 1), std::vector<int64_t>{0});
  EXPECT_EQ(batch.neighbour_ids.numel(), 0);
  EXPECT_EQ(batch.item_count, 1);
}

TEST(Collate, PairsAreTheirEndsAndWhetherTheyHaveAnEdge) {
  const OddGraphs source(3, std::vector<int64_t>{5});
  GraphBlock block = source.block();
  block.pairs = {0, 4, 2, 2, 1, 3};
  block.pair_y = {1, 0, 0};
  const Batch batch = collate(block, {OddGraphs::kFeatures, OddGraphs::kFeatures}, {.items = Items::pairs});
  EXPECT_EQ(batch.item_count, 3);
  EXPECT_EQ(values(batch.pairs, 6), (std::vector<int64_t>{0, 2, 1, 4, 2, 3}));
  const float* const y = batch.y.const_data_ptr<float>();
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{1, 0, 0}));
}

TEST(Collate, CountsItsItems) {
  const OddGraphs source(3, std::vector<int64_t>{40, 1, -7});
  const GraphBlock& block = source.block();
  const auto count = [&](Items items) { return collate(block, {3, 3}, {.items = items}).item_count; };
  EXPECT_EQ(count(Items::graphs), 3);
  EXPECT_EQ(count(Items::nodes), 48);
  EXPECT_EQ(count(Items::labelled_nodes),
            std::count_if(block.node_y.begin(), block.node_y.end(), [](int64_t y) { return y >= 0; }));
}

}  // namespace
}  // namespace plimsoll
