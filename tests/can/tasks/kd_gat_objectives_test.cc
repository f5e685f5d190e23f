// Tests the objectives of the KD-GAT pipeline in the block engine. tests/python compares their values with
// those of PyG.

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <numeric>

#include "engine/blocks/block_engine.h"
#include "engine/blocks/collate.h"
#include "nn/encodings.h"
#include "nn/gat_distillation.h"
#include "nn/gat_with_jk.h"
#include "nn/reconstruction_errors.h"
#include "nn/vgae_distillation.h"
#include "ops/allocator.h"
#include "support/odd_graphs.h"

namespace plimsoll {
namespace {

constexpr int64_t kFeatures = OddGraphs::kFeatures;
constexpr int64_t kTeacherLatent = 5;
constexpr DropoutKey kTraining{.training = true, .seed = 9, .epoch = 2};

struct Models {
  GraphAutoencoderNeighborhood vgae{
      {.num_ids = 6, .in_features = kFeatures, .hidden = {12, 8}, .latent = 4, .edge_features = kFeatures},
      3};
  GATWithJK gat{{.num_ids = 6, .in_features = kFeatures, .layers = 2, .hidden = 6, .jk = JkMode::lstm}, 3};

  std::unique_ptr<Objective> make(const std::string& name) const {
    if (name == "reconstruction") return std::make_unique<Reconstruction>(vgae);
    if (name == "errors") return std::make_unique<ReconstructionErrors>(vgae);
    if (name == "encodings") return std::make_unique<Encodings>(vgae);
    if (name == "vgae distillation") return std::make_unique<VgaeDistillation>(vgae, kTeacherLatent, 0.7);
    if (name == "gat distillation") return std::make_unique<GatDistillation>(gat, 4, 0.7);
    return std::make_unique<Classification>(gat);
  }
};

const std::vector<std::string> kAll = {"reconstruction",    "errors",           "encodings",
                                       "vgae distillation", "gat distillation", "classification"};

// A block of graphs without nodes or edges, around a graph with `nodes` nodes.
GraphBlock bare_block(int64_t nodes, bool edge) {
  GraphBlock block;
  block.clear();
  for (const int64_t count : {int64_t{0}, nodes, int64_t{0}}) {
    block.graph.push_back(block.graphs());
    block.node_ptr.push_back(block.node_ptr.back() + count);
    block.y.push_back(1);
    if (edge && count > 0) {
      block.edges.push_back(0);
      block.edges.push_back(static_cast<int32_t>(count - 1));
    }
    block.edge_ptr.push_back(static_cast<int64_t>(block.edges.size()) / 2);
  }
  block.x.resize(static_cast<size_t>(nodes * kFeatures), 1.0F);
  block.edge_attr.resize(static_cast<size_t>(block.edge_count() * kFeatures), 0.5F);
  return block;
}

Batch batch_of(const GraphBlock& block, const Objective& objective, const std::string& name) {
  Batch batch = collate(block, {kFeatures, kFeatures}, objective.collate_options());
  if (name == "vgae distillation")
    batch.teacher = at::full({block.nodes(), kTeacherLatent + kFeatures - 1}, 0.25);
  if (name == "gat distillation") batch.teacher = at::full({block.graphs(), 2}, 0.25);
  batch.statistics = std::make_shared<BlockStatistics>();
  return batch;
}

class KdGatObjectives : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    at::set_num_threads(1);
  }
};

TEST_F(KdGatObjectives, BlocksOfNoNodesAndNoEdgesWork) {
  const Models models;
  for (const std::string& name : kAll)
    for (const int64_t nodes : {0, 1, 2, 3})
      for (const bool edge : {false, true}) {
        SCOPED_TRACE(name + ", " + std::to_string(nodes) + " nodes" + (edge ? ", an edge" : ""));
        const auto objective = models.make(name);
        const GraphBlock block = bare_block(nodes, edge);
        const Batch batch = batch_of(block, *objective, name);
        const int64_t items = objective->collate_options().items == Items::nodes ? nodes : 3;
        EXPECT_EQ(batch.item_count, items);
        const at::Tensor outputs = objective->forward(batch, kTraining);
        EXPECT_EQ(outputs.sizes(), (at::IntArrayRef{items, objective->outputs()}));
        const at::Tensor losses = objective->losses(outputs, batch);
        EXPECT_EQ(losses.sizes(), (at::IntArrayRef{items}));
        EXPECT_TRUE(at::isfinite(losses).all().item<bool>());
        // Encodings are only used for prediction, and the engine leaves out empty batches.
        if (name == "encodings" || items == 0) continue;
        for (const at::Tensor& gradient :
             torch::autograd::grad({losses.sum()}, objective->parameters().from(0)))
          EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
      }
}

TEST_F(KdGatObjectives, AGraphOfNoNodesHasNoReconstructionErrors) {
  const Models models;
  const auto objective = models.make("errors");
  const GraphBlock block = bare_block(3, true);
  const at::Tensor found = objective->forward(batch_of(block, *objective, "errors"), {});
  EXPECT_EQ(found[0].abs().sum().item<double>(), 0);
  EXPECT_GT(found[1].min().item<double>(), 0);
  EXPECT_EQ(found[2].abs().sum().item<double>(), 0);
}

// Recomputed layers draw the same noise and drop the same values.
TEST_F(KdGatObjectives, RecomputedLayersGiveTheSameBits) {
  const Models models;
  const OddGraphs source(3, std::vector<int64_t>{40, 1, -7, 3, 25});
  for (const std::string& name : kAll) {
    if (name == "encodings") continue;
    const auto objective = models.make(name);
    std::vector<std::vector<at::Tensor>> found;
    for (const bool recompute : {false, true}) {
      Batch batch = batch_of(source.block(), *objective, name);
      if (batch.y.defined()) batch.y.clamp_(0, 1);  // There are two classes.
      batch.recompute = recompute;
      const at::Tensor losses = objective->losses(objective->forward(batch, kTraining), batch);
      found.push_back(torch::autograd::grad({losses.mean()}, objective->parameters().from(0)));
    }
    for (size_t p = 0; p < found[0].size(); ++p)
      EXPECT_TRUE(at::equal(found[0][p], found[1][p]))
          << name << ", " << objective->parameters().entries()[p].name;
  }
}

// The loss of a batch is the mean over its nodes, with the same bits for any number of workers.
TEST_F(KdGatObjectives, ABatchOfNodesIsDifferentiatedBlockByBlock) {
  const OddGraphs source(4, std::vector<int64_t>{40, 1, -7, 3, 25, 60, 2, 31, 17, 8});
  const auto shapes = read_shapes(source, 1);
  GraphList all(shapes.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  const Models models;
  const Reconstruction objective(models.vgae);
  std::vector<double> losses;
  std::vector<std::vector<at::Tensor>> gradients;
  for (const int workers : {1, 3}) {
    BlockEngine engine(source, shapes, objective, {.graphs = 3, .nodes = 70, .edges = 1000},
                       {.blocks = workers});
    EXPECT_EQ(engine.items(all), 194);
    losses.push_back(engine.gradient(all, kTraining));
    gradients.emplace_back();
    for (const at::Tensor& gradient : engine.gradients()) gradients.back().push_back(gradient.clone());
  }
  EXPECT_EQ(losses[0], losses[1]);
  for (size_t p = 0; p < gradients[0].size(); ++p) EXPECT_TRUE(at::equal(gradients[0][p], gradients[1][p]));

  // Predictions are made for each node.
  const Encodings encodings(models.vgae);
  BlockEngine engine(source, shapes, encodings, {.graphs = 3, .nodes = 70, .edges = 1000});
  std::vector<float> outputs(static_cast<size_t>(194 * encodings.outputs()));
  engine.predict(all, outputs);
  Batch whole = collate(source.block(), {kFeatures, kFeatures}, encodings.collate_options());
  const at::Tensor expected = encodings.forward(whole, {}).detach();
  const at::Tensor found = at::from_blob(outputs.data(), expected.sizes(), at::kFloat);
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-5);
}

TEST_F(KdGatObjectives, AProjectionStandsOnlyBetweenCodesOfDifferentWidths) {
  const Models models;
  const int64_t student = models.vgae.parameters().count();
  EXPECT_EQ(VgaeDistillation(models.vgae, 4, 0.7).parameters().count(), student);
  EXPECT_EQ(VgaeDistillation(models.vgae, 5, 0.7).parameters().count(), student + 4 * 5 + 5);
  EXPECT_EQ(models.vgae.parameters().count(), student);
  const VgaeDistillation objective(models.vgae, 5, 0.7);
  const auto& entries = objective.parameters().entries();
  EXPECT_TRUE(entries[0].value.is_same(models.vgae.parameters().entries()[0].value)) << "not shared";
  EXPECT_EQ(entries.back().name, "projection.bias");
}

}  // namespace
}  // namespace plimsoll
