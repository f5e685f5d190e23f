// Every training step of a model allocates the same tensors in the same order, and their sizes depend on a
// few counts of the block.

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

#include "engine/blocks/collate.h"
#include "nn/classification.h"
#include "nn/gat_with_jk.h"
#include "nn/gnn.h"
#include "ops/attention/attention_layer.h"
#include "support/all_values.h"
#include "support/allocation_tape.h"
#include "support/odd_graphs.h"

namespace plimsoll {
namespace {

constexpr int64_t kFeatures = OddGraphs::kFeatures;
constexpr size_t kTerms = 10;

// Computes the counts that decide a block's memory, from its graphs' shapes.
std::array<int64_t, kTerms> terms_of(std::span<const GraphShape> shapes, const CollateOptions& options) {
  PieceCount pieces;
  BlockSize size;
  int64_t loops = 0, items = 0, max_in = 0;
  for (const GraphShape& shape : shapes) {
    pieces.add(shape.nodes);
    size.add(shape);
    loops += shape.self_loops;
    items += options.items == Items::labelled_nodes ? shape.labelled_nodes : 1;
    max_in = std::max<int64_t>(max_in, options.self_loops ? shape.max_in : shape.max_in_without_loops);
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
          max_in,
          std::max<int64_t>((size.graphs + 63) / 64, 1)};
}

struct Block {
  OddGraphs graphs;
  Vector<GraphShape, Tag::columns> shapes;

  Block(uint64_t seed, const std::vector<int64_t>& sizes)
      : graphs(seed, sizes), shapes(read_shapes(graphs, 1)) {}
};

// Very different blocks, all closed or all open.
std::vector<Block> blocks(bool closed, int count) {
  std::vector<Block> result;
  std::mt19937_64 random(closed ? 1 : 2);
  for (int b = 0; b < count; ++b) {
    std::vector<int64_t> sizes;
    const int64_t graphs = 2 + static_cast<int64_t>(random() % (b % 3 == 0 ? 200 : 40));
    const uint64_t max = b % 4 == 0 ? 600 : b % 4 == 1 ? 5 : 70;
    for (int64_t g = 0; g < graphs; ++g) sizes.push_back(2 + static_cast<int64_t>(random() % max));
    if (!closed) sizes[random() % sizes.size()] = kMaxPieceNodes + 1 + static_cast<int64_t>(random() % 6000);
    result.emplace_back(static_cast<uint64_t>(b), sizes);
  }
  return result;
}

// Trains a block as BlockEngine does.
void train(const Block& block, const Objective& objective) {
  std::vector<at::Tensor> parameters;
  for (const ParameterList::Entry& entry : objective.parameters().entries())
    parameters.push_back(entry.value);
  Batch batch = collate(block.graphs.block(), {kFeatures, kFeatures}, objective.collate_options());
  batch.statistics = std::make_shared<BlockStatistics>();
  const at::Tensor losses =
      objective.losses(objective.forward(batch, {.training = true, .seed = 3, .epoch = 1}), batch);
  const at::Tensor loss = losses.sum() / 7.0;
  EXPECT_TRUE(std::isfinite(loss.item<double>()));
  torch::autograd::grad({loss}, parameters);
}

void expect_planned(const std::vector<Block>& blocks, const GraphModel& model) {
  const Classification objective(model);
  train(blocks.front(), objective);  // Allocates what torch allocates once.
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
  for (const ConvKind conv : all_values<ConvKind>())
    for (const NormKind norm : all_values<NormKind>())
      for (const LayerJoin jk : all_values<LayerJoin>())
        for (const Reduce pooling : {Reduce::mean, Reduce::sum, Reduce::max})
          for (const bool node_head : {false, true}) {
            // Each option is combined with many others; all combinations would need a minute.
            if (++next % (GetParam() ? 7 : 17) != 0 && !slow()) continue;
            if (node_head && pooling != Reduce::mean) continue;
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
            SCOPED_TRACE(testing::Message()
                         << word_of(conv) << ", norm " << word_of(norm) << ", jk " << word_of(jk) << ", "
                         << word_of(pooling) << (node_head ? ", nodes" : "") << ", number " << next);
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
  // A block of one node is a special case: torch then treats rows as columns, and a norm has no variance.
  for (const std::vector<int64_t>& odd :
       std::vector<std::vector<int64_t>>{{-3, -4}, {50}, {2}, {1, 1}, {5, 1, 7}})
    for (const ConvKind conv : all_values<ConvKind>()) {
      std::vector<Block> all = blocks(true, 14);
      all.emplace_back(99, odd);
      const Gnn model({.conv = conv,
                       .in_features = kFeatures,
                       .edge_features = kFeatures,
                       .layers = 2,
                       .hidden = 8,
                       .norm = NormKind::graph,
                       .jk = LayerJoin::cat,
                       .dropout = 0.3,
                       .classes = 3},
                      1);
      SCOPED_TRACE(testing::Message()
                   << word_of(conv) << ", a block of " << odd.size() << ", first " << odd[0]);
      expect_planned(all, model);
    }
}

INSTANTIATE_TEST_SUITE_P(Orders, AllocationSequence, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Closed" : "Open"; });

}  // namespace
}  // namespace plimsoll
