#include "sample/block/forest_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kMax = ForestSource::kMaxNeighbours;

struct GivenGraph {
  int32_t nodes;
  std::vector<int32_t> edges;  // Two ends of each edge.
};

// Node n has feature n, pos 10 n and so on, and label n; edge e has feature e.
class GivenGraphs : public BlockSource {
 public:
  explicit GivenGraphs(std::vector<GivenGraph> graphs) : graphs_(std::move(graphs)) {}
  int64_t graphs() const override { return static_cast<int64_t>(graphs_.size()); }
  int64_t node_features() const override { return 1; }
  int64_t edge_features() const override { return 1; }
  const GraphSetTables& tables() const override { return tables_; }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    block.clear();
    for (const int64_t g : graphs) {
      const GivenGraph& graph = graphs_[static_cast<size_t>(g)];
      block.graph.push_back(g);
      block.y.push_back(g % 2);
      block.node_ptr.push_back(block.nodes() + graph.nodes);
      block.edge_ptr.push_back(block.edge_count() + static_cast<int64_t>(graph.edges.size() / 2));
      for (int32_t n = 0; n < graph.nodes; ++n) {
        block.x.push_back(static_cast<float>(n));
        block.node_y.push_back(n);
        for (int c = 0; c < 3; ++c) block.pos.push_back(static_cast<float>(10 * n + c));
      }
      block.edges.insert(block.edges.end(), graph.edges.begin(), graph.edges.end());
      for (size_t e = 0; e < graph.edges.size() / 2; ++e) block.edge_attr.push_back(static_cast<float>(e));
    }
  }

 private:
  std::vector<GivenGraph> graphs_;
  GraphSetTables tables_;
};

// A square 0 1 2 3 whose diagonal 1-3 is stored in both directions, with a leaf 4 at node 2; and a separate
// chain 5-6-7.
const GivenGraph kSquare{8, {0, 1, 1, 2, 2, 3, 3, 0, 1, 3, 3, 1, 2, 4, 5, 6, 7, 6, 2, 2}};
const GivenGraph kTree{4, {0, 1, 1, 0, 1, 2, 2, 1, 0, 3, 3, 0, 3, 3}};
const GivenGraph kTwoTrees{4, {0, 2, 1, 3}};

GraphBlock read_one(const ForestSource& source, int64_t graph) {
  GraphBlock block;
  source.read(std::span(&graph, 1), block);
  return block;
}

ForestSource forests(const std::vector<GivenGraph>& graphs, int64_t root) {
  return {std::make_unique<GivenGraphs>(graphs), root};
}

TEST(ForestSource, GrowsFromTheNodeWithMostNeighboursBreadthFirst) {
  const ForestSource source = forests({kSquare}, kMax);
  EXPECT_EQ(source.counts().graphs, 1);
  EXPECT_EQ(source.counts().edges_left_out, 3);
  const GraphBlock block = read_one(source, 0);
  // 1, 2 and 3 have three neighbours; 1 is the first of them and reaches 0, 2, 3, then 4 through 2. The root
  // of 5, 6 and 7 is 6.
  EXPECT_THAT(block.x, ElementsAre(1, 0, 2, 3, 4, 6, 5, 7));
  EXPECT_THAT(block.node_y, ElementsAre(1, 0, 2, 3, 4, 6, 5, 7));
  EXPECT_THAT(block.edges, ElementsAre(1, 0, 0, 2, 0, 3, 3, 0, 2, 4, 6, 5, 7, 5));
  EXPECT_THAT(block.edge_attr, ElementsAre(0, 1, 4, 5, 6, 7, 8));
  EXPECT_THAT(std::span(block.pos).first(6), ElementsAre(10, 11, 12, 0, 1, 2));
  EXPECT_THAT(block.node_ptr, ElementsAre(0, 8));
  EXPECT_THAT(block.edge_ptr, ElementsAre(0, 7));
}

TEST(ForestSource, GrowsFromTheRootThatIsNamed) {
  const GraphBlock block = read_one(forests({kSquare}, 4), 0);
  EXPECT_THAT(block.x, ElementsAre(4, 2, 1, 3, 0, 6, 5, 7));
  EXPECT_THAT(read_one(forests({kTree}, 2), 0).x, ElementsAre(2, 1, 0, 3));
}

TEST(ForestSource, IsTheSameWhateverTheOrderOfEdges) {
  GivenGraph turned = kSquare;
  std::ranges::reverse(turned.edges);
  EXPECT_EQ(read_one(forests({kSquare}, kMax), 0).x, read_one(forests({turned}, kMax), 0).x);
}

TEST(ForestSource, LeavesForestsAsTheyAre) {
  const std::vector<GivenGraph> graphs = {kTree, kTwoTrees, {1, {}}};
  GraphBlock given, made;
  const std::vector<int64_t> chosen = {1, 0, 2, 1};
  GivenGraphs(graphs).read(chosen, given);
  // Together with a graph that changes, and without one.
  for (const bool beside : {false, true}) {
    std::vector<GivenGraph> all = graphs;
    if (beside) all.push_back(kSquare);
    for (const int64_t root : {kMax, int64_t{0}}) {
      const ForestSource source = forests(all, root);
      EXPECT_EQ(source.counts().graphs, beside ? 1 : 0);
      source.read(chosen, made);
      EXPECT_EQ(made.x, given.x);
      EXPECT_EQ(made.pos, given.pos);
      EXPECT_EQ(made.edges, given.edges);
      EXPECT_EQ(made.edge_attr, given.edge_attr);
      EXPECT_EQ(made.node_ptr, given.node_ptr);
      EXPECT_EQ(made.edge_ptr, given.edge_ptr);
      EXPECT_EQ(made.y, given.y);
      EXPECT_EQ(made.graph, given.graph);
    }
  }
}

TEST(ForestSource, SaysTheShapesThatItReads) {
  const ForestSource source = forests({kTree, kSquare, kSquare, kTwoTrees}, kMax);
  for (const int threads : {1, 3}) {
    const auto shapes = source.shapes(threads);
    for (int64_t g = 0; g < source.graphs(); ++g) {
      const GraphBlock block = read_one(source, g);
      EXPECT_EQ(shapes[static_cast<size_t>(g)].nodes, block.nodes());
      EXPECT_EQ(shapes[static_cast<size_t>(g)].edges, block.edge_count());
    }
  }
}

TEST(ForestSource, ReadsIntoARoomOfTheShapesWithoutMore) {
  const ForestSource source = forests({kSquare, kTree}, kMax);
  const auto shapes = source.shapes(1);
  BlockSize size;
  for (const GraphShape& shape : shapes) size.add(shape);
  GraphBlock block;
  RowWidths room = source.room();
  room.coordinates = 3;
  block.make_room(size, room);
  const int64_t held = Ledger::process().held();
  source.read(std::vector<int64_t>{0, 1}, block);
  EXPECT_EQ(Ledger::process().held(), held);
}

TEST(ForestSource, NamesAGraphWithoutTheRoot) {
  EXPECT_THAT(error_text<InputError>([] {
                forests({kSquare, kTree}, 5);
              }),
              HasSubstr("graph 1 has 4 nodes and no node 5, which is the root"));
}

}  // namespace
}  // namespace plimsoll
