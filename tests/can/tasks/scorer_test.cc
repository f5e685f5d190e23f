#include "can/tasks/scorer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/blocks/collate.h"
#include "engine/plan/warm_up.h"
#include "nn/reconstruction.h"
#include "ops/allocator.h"
#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/random_graphs.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ScorerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(2);
  }
  void SetUp() override {
    shapes_ = read_shapes(source_, 1);
    gat_.gat = std::make_unique<GATWithJK>(GatOptions{.num_ids = 20, .dropout = 0.5}, 3);
    vgae_.vgae = std::make_unique<GraphAutoencoderNeighborhood>(
        VgaeOptions{.num_ids = 20, .hidden = {12}, .latent = 4, .dropout = 0.5}, 3);
  }

  ScorerOptions options(int threads = 1) {
    return {
        .source = &source_, .shapes = shapes_, .limits = {4, 4096, 16384}, .memory = {.threads = threads}};
  }
  std::vector<float> scores(const Detector& detector, const GraphList& graphs, int threads = 1) {
    Scorer scorer(detector, options(threads), {graphs});
    const auto found = scorer.scores(graphs);
    return {found.begin(), found.end()};
  }
  // Makes a batch of one graph without the engine.
  Batch batch_of(int64_t graph, const CollateOptions& options) {
    const GraphList graphs = {graph};
    source_.read(graphs, block_);
    return collate(block_, source_.widths(), options);
  }

  RandomGraphs source_{40, 20, 7};
  GraphBlock block_;
  Vector<GraphShape, Tag::columns> shapes_;
  const GraphList some_ = {1, 3, 5, 6, 11, 12, 30, 39};  // Graph 3 has one node, graph 5 no edge.
  Detector gat_, vgae_;
};

TEST_F(ScorerTest, OfAGatItIsTheLogOddsOfAnAttack) {
  const auto found = scores(gat_, some_);
  ASSERT_EQ(found.size(), some_.size());
  for (size_t i = 0; i < some_.size(); ++i) {
    const at::Tensor odds = at::softmax(gat_.gat->forward(batch_of(some_[i], {}), {}).to(at::kDouble), 1);
    EXPECT_NEAR(found[i], std::log(odds[0][1].item<double>() / odds[0][0].item<double>()), 1e-5) << some_[i];
  }
}

TEST_F(ScorerTest, OfAnAutoencoderItIsTheErrorOfItsReconstruction) {
  const Reconstruction training(*vgae_.vgae);
  const auto found = scores(vgae_, some_);
  ASSERT_EQ(found.size(), some_.size());
  for (size_t i = 0; i < some_.size(); ++i) {
    const Batch batch = batch_of(some_[i], training.collate_options());
    const at::Tensor nodes = training.forward(batch, {}).to(at::kDouble).mean(0);
    const double expected =
        nodes[0].item<double>() + 0.1 * nodes[1].item<double>() + 0.05 * nodes[2].item<double>();
    EXPECT_NEAR(found[i], expected, 1e-5) << some_[i];
  }
}

TEST_F(ScorerTest, ThreadsChangeNoBitAndEachGraphKeepsItsScore) {
  GraphList all(40);
  std::iota(all.begin(), all.end(), int64_t{0});
  for (const Detector* detector : {&gat_, &vgae_}) {
    const auto found = scores(*detector, all);
    EXPECT_EQ(scores(*detector, all, 3), found);
    const auto few = scores(*detector, some_);
    for (size_t i = 0; i < some_.size(); ++i)
      EXPECT_NEAR(few[i], found[static_cast<size_t>(some_[i])], 1e-5) << some_[i];
  }
}

TEST_F(ScorerTest, NoGraphsHaveNoScores) {
  EXPECT_TRUE(scores(gat_, {}).empty());
}

TEST_F(ScorerTest, OtherFeaturesAreRefused) {
  vgae_.vgae =
      std::make_unique<GraphAutoencoderNeighborhood>(VgaeOptions{.num_ids = 20, .in_features = 12}, 3);
  gat_.gat = std::make_unique<GATWithJK>(GatOptions{.num_ids = 20, .edge_features = 9}, 3);
  EXPECT_THAT(error_text<InputError>([&] { scores(vgae_, some_); }),
              AllOf(HasSubstr("trained on 12 node features and 0 edge features, the data has 11 and 11"),
                    HasSubstr("data.without")));
  EXPECT_THAT(error_text<InputError>([&] { scores(gat_, some_); }), HasSubstr("and 9 edge features"));
}

TEST_F(ScorerTest, ABudgetThatIsTooSmallIsRefusedBeforeAnythingIsScored) {
  ScorerOptions options = this->options();
  options.later = int64_t{1} << 30;
  const LedgerCap cap(int64_t{64} << 20);
  EXPECT_THAT(error_text<BudgetTooSmall>([&] { Scorer(gat_, options, {some_}); }), HasSubstr("--budget"));
}

}  // namespace
}  // namespace plimsoll
