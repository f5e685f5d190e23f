// The outputs of a network for the seeds of a sample do not depend on whether its layers are trimmed to their
// hops.

#include "engine/blocks/trimmed_layers.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "engine/blocks/collate.h"
#include "nn/classification.h"
#include "nn/gnn.h"
#include "ops/aggregate/aggregate.h"
#include "ops/attention/attention.h"
#include "support/all_values.h"
#include "support/errors.h"
#include "support/sample_source.h"

namespace plimsoll {
namespace {

constexpr DropoutKey kTraining{.training = true, .seed = 9, .epoch = 2};

GraphBlock block_of(const SampleSource& source, int64_t graph, bool trimmed) {
  GraphBlock block;
  source.read(std::span(&graph, 1), block);
  if (!trimmed) block.prefixes.clear();
  return block;
}

struct Step {
  std::vector<at::Tensor> outputs;  // Outputs for the labelled seeds.
  std::vector<at::Tensor> gradients;
  std::vector<BlockStatistics::Entry> statistics;
};

Step step(const Gnn& model, const SampleSource& source, int64_t graph, bool trimmed, bool recompute = false) {
  const Classification objective(model);
  const GraphBlock block = block_of(source, graph, trimmed);
  Batch batch = collate(block, source.widths(), objective.collate_options());
  batch.recompute = recompute;
  batch.statistics = std::make_shared<BlockStatistics>();
  const at::Tensor logits = objective.forward(batch, kTraining);
  const at::Tensor loss = objective.losses(logits, batch).sum();
  return {{logits.detach()},
          torch::autograd::grad({loss}, model.parameters().from(0)),
          batch.statistics->entries};
}

void expect_close(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(at::allclose(found[i], expected[i], 1e-4, 2e-5))
        << "tensor " << i << " is " << (found[i] - expected[i]).abs().max().item<float>() << " off";
}

void expect_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << "tensor " << i;
}

GnnOptions options_of(ConvKind conv, int64_t layers, NormKind norm, LayerJoin jk) {
  return {.conv = conv,
          .in_features = SampleSource::kFeatures,
          .layers = layers,
          .hidden = 12,
          .heads = 2,
          .norm = norm,
          .jk = jk,
          .dropout = 0.3,
          .classes = 3,
          .node_head = true};
}

class TrimmedLayersTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }
};

TEST_F(TrimmedLayersTest, SeedsAndGradientsAreThoseOfAllNodes) {
  for (const int64_t hops : {1, 2, 3}) {
    const SampleSource source(static_cast<uint64_t>(hops), 4, hops, 20);
    for (const int64_t layers : {1, 2, 3, 4})
      for (const ConvKind conv : all_values<ConvKind>())
        for (const LayerJoin jk : all_values<LayerJoin>()) {
          const Gnn model(options_of(conv, layers, NormKind::none, jk), 5);
          for (int64_t graph = 0; graph < source.graphs(); ++graph) {
            SCOPED_TRACE(testing::Message() << word_of(conv) << ", jk " << word_of(jk) << ", " << layers
                                            << " layers, " << hops << " hops, sample " << graph);
            const Step trimmed = step(model, source, graph, true);
            const Step whole = step(model, source, graph, false);
            expect_close(trimmed.outputs, whole.outputs);
            expect_close(trimmed.gradients, whole.gradients);
          }
        }
  }
}

TEST_F(TrimmedLayersTest, RecomputedLayersGiveTheSameBits) {
  const SampleSource source(7, 3, 3, 20);
  for (const ConvKind conv : all_values<ConvKind>())
    for (const NormKind norm : all_values<NormKind>())
      for (const LayerJoin jk : all_values<LayerJoin>()) {
        SCOPED_TRACE(testing::Message()
                     << word_of(conv) << ", norm " << word_of(norm) << ", jk " << word_of(jk));
        const Gnn model(options_of(conv, 3, norm, jk), 5);
        for (int64_t graph = 0; graph < source.graphs(); ++graph) {
          const Step kept = step(model, source, graph, true, false);
          const Step again = step(model, source, graph, true, true);
          expect_same(kept.outputs, again.outputs);
          expect_same(kept.gradients, again.gradients);
        }
      }
}

// As in PyG, if a layer gets targets apart from its sources.
TEST_F(TrimmedLayersTest, NormalisationIsOverTheNodesThatALayerMakes) {
  const SampleSource source(3, 1, 2, 20);
  const SampledSubgraph& sample = source.sample(0);
  const int64_t seeds = sample.nodes_per_hop[0];
  ASSERT_GT(seeds, 1);
  ASSERT_GT(sample.nodes_per_hop[1], 0);
  ASSERT_GT(sample.nodes_per_hop[2], 0);
  const Gnn model(options_of(ConvKind::sage, 2, NormKind::batch, LayerJoin::last), 5);
  const Step trimmed = step(model, source, 0, true);
  ASSERT_EQ(trimmed.statistics.size(), 2U);
  const int64_t made = seeds + sample.nodes_per_hop[1];
  EXPECT_EQ(trimmed.statistics[0].rows, made);
  EXPECT_EQ(trimmed.statistics[1].rows, seeds);
  // The mean of the first layer's outputs for the nodes that it computes; everything is linear.
  const GraphBlock block = block_of(source, 0, true);
  const Batch batch = collate(block, source.widths(), model.collate_options());
  const auto parameter = [&](const char* name) {
    const auto& entries = model.parameters().entries();
    return std::ranges::find(entries, name, &ParameterList::Entry::name)->value.detach();
  };
  const at::Tensor share = in_degrees(batch.layers[0].order, batch.nodes(), made).clamp_min(1).reciprocal();
  const at::Tensor neighbours = aggregate(batch.x, batch.layers[0].order, {}, share, made);
  const at::Tensor expected = at::mv(parameter("convs.0.lin_l.weight"), neighbours.mean(0)) +
                              parameter("convs.0.lin_l.bias") +
                              at::mv(parameter("convs.0.lin_r.weight"), batch.x.narrow(0, 0, made).mean(0));
  EXPECT_TRUE(at::allclose(trimmed.statistics[0].mean, expected, 1e-4, 1e-5));
}

TEST_F(TrimmedLayersTest, EachLayerHasTheNodesAndEdgesOfItsHops) {
  const SampleSource source(3, 5, 2, 20);
  for (int64_t graph = 0; graph < source.graphs(); ++graph) {
    const SampledSubgraph& sample = source.sample(graph);
    const GraphBlock block = block_of(source, graph, true);
    const auto nodes = [&](size_t hops) {
      int64_t sum = 0;
      for (size_t hop = 0; hop <= std::min<size_t>(hops, 2); ++hop) sum += sample.nodes_per_hop[hop];
      return sum;
    };
    for (const int64_t layers : {1, 2, 3, 4}) {
      const Gnn model(options_of(ConvKind::sage, layers, NormKind::none, LayerJoin::last), 5);
      const Batch batch = collate(block, source.widths(), model.collate_options());
      ASSERT_EQ(batch.layers.size(), static_cast<size_t>(layers));
      EXPECT_EQ(batch.nodes(), nodes(static_cast<size_t>(layers))) << "hops that no layer needs are read";
      for (size_t l = 0; l < batch.layers.size(); ++l) {
        const size_t hops = static_cast<size_t>(layers) - 1 - l;
        EXPECT_EQ(batch.layers[l].targets, nodes(hops));
        // Throws for other counts.
        view_edge_order(batch.layers[l].order.const_data_ptr<int32_t>(), batch.layers[l].order.numel(),
                        nodes(hops + 1), nodes(hops),
                        sample.edges_per_hop[0] + (hops > 0 ? sample.edges_per_hop[1] : 0));
      }
    }
  }
}

TEST_F(TrimmedLayersTest, TwoSamplesInABlockAreRefused) {
  const SampleSource source(3, 2, 2, 20);
  GraphBlock block;
  source.read(std::vector<int64_t>{0, 1}, block);
  const Gnn model(options_of(ConvKind::sage, 2, NormKind::none, LayerJoin::last), 5);
  EXPECT_THAT(error_text<Failure>([&] { collate(block, source.widths(), model.collate_options()); }),
              ::testing::HasSubstr("block of 2 samples"));
}

}  // namespace
}  // namespace plimsoll
