// Every training step of a model takes the same pieces of memory in the same order, in sizes that a few
// counts of its block decide.

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <ATen/TensorOperators.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "nn/classification.h"
#include "nn/gat_with_jk.h"
#include "nn/gnn.h"
#include "ops/attention_layer.h"
#include "support/allocation_tape.h"
#include "train/collate.h"

namespace plimsoll {
namespace {

constexpr int64_t kFeatures = 3;
constexpr size_t kTerms = 10;

// Random graphs with self-loops and edges twice, of labelled nodes.
class Graphs : public BlockSource {
 public:
  Graphs(uint64_t seed, std::span<const int64_t> sizes) : random_(seed) {
    for (const int64_t nodes : sizes) add(nodes);
  }

  int64_t graphs() const override { return block_.graphs(); }
  int64_t node_features() const override { return kFeatures; }
  int64_t edge_features() const override { return kFeatures; }
  const GraphSetTables& tables() const override { return tables_; }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    block.clear();
    for (const int64_t graph : graphs) {
      const auto g = static_cast<size_t>(graph);
      const auto copy = [](auto& to, const auto& from, int64_t begin, int64_t end) {
        to.insert(to.end(), from.begin() + begin, from.begin() + end);
      };
      copy(block.x, block_.x, kFeatures * block_.node_ptr[g], kFeatures * block_.node_ptr[g + 1]);
      copy(block.node_y, block_.node_y, block_.node_ptr[g], block_.node_ptr[g + 1]);
      copy(block.edges, block_.edges, 2 * block_.edge_ptr[g], 2 * block_.edge_ptr[g + 1]);
      copy(block.edge_attr, block_.edge_attr, kFeatures * block_.edge_ptr[g],
           kFeatures * block_.edge_ptr[g + 1]);
      block.node_ptr.push_back(block.node_ptr.back() + block_.node_ptr[g + 1] - block_.node_ptr[g]);
      block.edge_ptr.push_back(block.edge_ptr.back() + block_.edge_ptr[g + 1] - block_.edge_ptr[g]);
      block.graph.push_back(graph);
      block.y.push_back(block_.y[g]);
    }
  }

  // All of them as one block.
  const GraphBlock& block() const { return block_; }

 private:
  uint64_t draw(int64_t below) { return random_() % static_cast<uint64_t>(below); }

  // Without edges where `nodes` is negative.
  void add(int64_t nodes) {
    if (block_.node_ptr.empty()) block_.clear();
    const bool none = nodes < 0;
    nodes = std::abs(nodes);
    const auto edges = none ? 0 : static_cast<int64_t>(1 + draw(2 * nodes));
    block_.graph.push_back(graphs());
    block_.node_ptr.push_back(block_.node_ptr.back() + nodes);
    block_.edge_ptr.push_back(block_.edge_ptr.back() + edges);
    for (int64_t n = 0; n < nodes; ++n) {
      for (int64_t f = 0; f < kFeatures; ++f)
        block_.x.push_back(static_cast<float>(f == 0 ? draw(5) : draw(1000)) / (f == 0 ? 1.0F : 1000.0F));
      block_.node_y.push_back(static_cast<int64_t>(draw(4)) - 1);
    }
    const auto hub = static_cast<int64_t>(draw(nodes));
    for (int64_t e = 0; e < edges; ++e) {
      const auto from = static_cast<int32_t>(draw(nodes));
      block_.edges.push_back(from);
      block_.edges.push_back(static_cast<int32_t>(draw(5) == 0 ? hub : draw(9) == 0 ? from : draw(nodes)));
    }
    block_.edge_attr.resize(static_cast<size_t>(block_.edge_ptr.back() * kFeatures), 0.5F);
    block_.y.push_back(static_cast<int64_t>(draw(3)));
  }

  std::mt19937_64 random_;
  GraphBlock block_;
  GraphSetTables tables_;
};

// What decides a block's memory, from its graphs' shapes alone.
std::array<int64_t, kTerms> terms_of(std::span<const GraphShape> shapes, const CollateOptions& options) {
  PieceCount pieces;
  BlockSize size;
  int64_t loops = 0, items = 0, most_in = 0;
  for (const GraphShape& shape : shapes) {
    pieces.add(shape.nodes);
    size.add(shape);
    loops += shape.self_loops;
    items += options.node_labels ? shape.labelled_nodes : 1;
    most_in = std::max<int64_t>(most_in, options.self_loops ? shape.most_in : shape.most_in_without_loops);
  }
  pieces.end();
  const int64_t ranges = (size.nodes + AttentionRanges::kNodes - 1) / AttentionRanges::kNodes;
  return {1,
          size.graphs,
          size.nodes,
          size.edges,
          loops,
          items,
          pieces.closed() ? pieces.largest() : transposed_groups(size.nodes),
          pieces.closed() ? AttentionRanges::groups_of(pieces.pieces()) : ranges,
          most_in,
          std::max<int64_t>((size.graphs + 63) / 64, 1)};
}

struct Block {
  Graphs graphs;
  Vector<GraphShape, Tag::columns> shapes;

  Block(uint64_t seed, const std::vector<int64_t>& sizes)
      : graphs(seed, sizes), shapes(read_shapes(graphs, 1)) {}
};

// Blocks of very different make, all closed or all open.
std::vector<Block> blocks(bool closed, int count) {
  std::vector<Block> result;
  std::mt19937_64 random(closed ? 1 : 2);
  for (int b = 0; b < count; ++b) {
    std::vector<int64_t> sizes;
    const int64_t graphs = 2 + static_cast<int64_t>(random() % (b % 3 == 0 ? 200 : 40));
    const uint64_t most = b % 4 == 0 ? 600 : b % 4 == 1 ? 5 : 70;
    for (int64_t g = 0; g < graphs; ++g) sizes.push_back(2 + static_cast<int64_t>(random() % most));
    if (!closed) sizes[random() % sizes.size()] = kMostPieceNodes + 1 + static_cast<int64_t>(random() % 6000);
    result.emplace_back(static_cast<uint64_t>(b), sizes);
  }
  return result;
}

// BlockEngine's.
void train(const Block& block, const Objective& objective) {
  std::vector<at::Tensor> parameters;
  for (const ParameterList::Entry& entry : objective.parameters().entries())
    parameters.push_back(entry.value);
  Batch batch = collate(block.graphs.block(), kFeatures, kFeatures, objective.collate_options());
  batch.statistics = std::make_shared<BlockStatistics>();
  const at::Tensor losses =
      objective.losses(objective.forward(batch, {.training = true, .seed = 3, .epoch = 1}), batch);
  const at::Tensor loss = losses.sum() / 7.0;
  EXPECT_TRUE(std::isfinite(loss.item<double>()));
  torch::autograd::grad({loss}, parameters);
}

void expect_planned(const std::vector<Block>& blocks, const GraphModel& model) {
  const Classification objective(model);
  train(blocks.front(), objective);  // what torch makes once
  std::vector<TapeOf<kTerms>> tapes;
  for (const Block& block : blocks)
    tapes.push_back({terms_of(block.shapes, objective.collate_options()),
                     AllocationTape::record([&] { train(block, objective); })});
  expect_affine(tapes);
}

class AllocationSequence : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { at::set_num_threads(1); }
  static bool slow() { return std::getenv("PLIMSOLL_SLOW") != nullptr; }
};

TEST_P(AllocationSequence, IsTheSameForEveryBlockOfAGnn) {
  const std::vector<Block> all = blocks(GetParam(), 16);
  int next = 0;
  for (const char* conv : {"gat", "gatv2", "gcn", "gin", "sage"})
    for (const char* norm : {"none", "batch", "graph"})
      for (const char* jk : {"last", "cat", "max"})
        for (const char* pooling : {"mean", "sum", "max"})
          for (const bool node_head : {false, true}) {
            // Each option meets many others; all of them take a minute.
            if (++next % (GetParam() ? 7 : 17) != 0 && !slow()) continue;
            if (node_head && std::string(pooling) != "mean") continue;
            const Gnn model({.conv = conv,
                             .in_features = kFeatures,
                             .edge_features = next % 2 == 0 ? kFeatures : 0,
                             .num_ids = next % 4 < 2 ? 5 : 0,
                             .embedding = 2,
                             .layers = 2,
                             .hidden = next % 3 == 0 ? 8 : 16,
                             .heads = 2,
                             .norm = norm,
                             .jk = jk,
                             .pooling = pooling,
                             .dropout = next % 5 < 3 ? 0.3 : 0.0,
                             .classes = 3,
                             .node_head = node_head},
                            1);
            SCOPED_TRACE(testing::Message() << conv << ", norm " << norm << ", jk " << jk << ", " << pooling
                                            << (node_head ? ", nodes" : "") << ", number " << next);
            expect_planned(all, model);
          }
}

TEST_P(AllocationSequence, IsTheSameForEveryBlockOfTheGat) {
  const std::vector<Block> all = blocks(GetParam(), 16);
  for (const int64_t hidden : {4, 24}) {
    const GATWithJK model({.num_ids = 6, .in_features = kFeatures, .hidden = hidden, .classes = 3}, 1);
    expect_planned(all, model);
  }
}

TEST(OddBlocks, TakeTheSamePiecesWithoutEdgesAndForOneGraph) {
  at::set_num_threads(1);
  // A block of one node is another matter: torch then takes rows for columns, and a norm has nothing to say.
  for (const std::vector<int64_t>& odd :
       std::vector<std::vector<int64_t>>{{-3, -4}, {50}, {2}, {1, 1}, {5, 1, 7}})
    for (const char* conv : {"gat", "gatv2", "gcn", "gin", "sage"}) {
      std::vector<Block> all = blocks(true, 14);
      all.emplace_back(99, odd);
      const Gnn model({.conv = conv,
                       .in_features = kFeatures,
                       .edge_features = kFeatures,
                       .layers = 2,
                       .hidden = 8,
                       .norm = "graph",
                       .jk = "cat",
                       .dropout = 0.3,
                       .classes = 3},
                      1);
      SCOPED_TRACE(testing::Message() << conv << ", a block of " << odd.size() << ", first " << odd[0]);
      expect_planned(all, model);
    }
}

INSTANTIATE_TEST_SUITE_P(Orders, AllocationSequence, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Closed" : "Open"; });

}  // namespace
}  // namespace plimsoll
