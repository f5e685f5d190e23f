#include "engine/blocks/block_engine.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/units.h"
#include "engine/fit/optimizer.h"
#include "engine/plan/planner.h"
#include "engine/plan/warm_up.h"
#include "memory/ledger.h"
#include "nn/classification.h"
#include "nn/gat_with_jk.h"
#include "nn/gnn.h"
#include "ops/allocator.h"
#include "ops/segment/segment.h"
#include "support/all_values.h"
#include "support/errors.h"
#include "support/fixed_ranges.h"
#include "support/random_graphs.h"

namespace plimsoll {
namespace {

constexpr DropoutKey kTraining{.training = true, .seed = 9, .epoch = 2};

class BlockEngineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(4);
  }
  void SetUp() override {
    shapes_ = read_shapes(source_, 1);
    batch_.resize(static_cast<size_t>(source_.graphs()));
    std::iota(batch_.begin(), batch_.end(), int64_t{0});
    shuffle(batch_, 1, 1);
  }
  void TearDown() override { Ledger::process().set_cap(Ledger::kUnlimited); }

  // `range` is the number of slab bytes per block; 0: tensors come from the heap.
  std::unique_ptr<BlockEngine> engine(int threads, const BlockLimits& limits = kLimits, int64_t range = 0,
                                      int64_t prefetch = 0, bool recompute = false) {
    const auto ranges = range > 0 ? std::make_shared<FixedRanges>(range) : nullptr;
    return std::make_unique<BlockEngine>(source_, shapes_, objective_, limits,
                                         ExecutionPlan{.blocks = threads,
                                                       .slab_bytes = range * threads,
                                                       .prefetch = prefetch,
                                                       .recompute = recompute,
                                                       .training = ranges,
                                                       .prediction = ranges});
  }
  MemoryPlan plan(int threads, bool recompute = false) {
    return make_plan({.source = &source_,
                      .shapes = shapes_,
                      .objective = &objective_,
                      .limits = kLimits,
                      .memory = {.threads = threads},
                      .training = batch_,
                      .epochs = 1,
                      .batch_size = 64,
                      .predicted = {batch_},
                      .recompute = recompute ? GradientCheckpointing::on : GradientCheckpointing::off});
  }
  // Slab bytes of the largest block.
  int64_t range_bytes(bool recompute = false) { return plan(1, recompute).execution.slab_bytes; }
  std::unique_ptr<BlockEngine> planned(int threads, bool recompute = false) {
    return std::make_unique<BlockEngine>(source_, shapes_, objective_, kLimits,
                                         require_feasible(plan(threads, recompute)));
  }
  static std::vector<float> bits(const BlockEngine& engine) {
    std::vector<float> values;
    for (const at::Tensor& gradient : engine.gradients()) {
      const float* const data = gradient.const_data_ptr<float>();
      values.insert(values.end(), data, data + gradient.numel());
    }
    return values;
  }

  RandomGraphs source_{200, 50, 7};
  static constexpr BlockLimits kLimits{8, 4096, 16384};
  GATWithJK model_{{.num_ids = 50}, 3};
  Classification objective_{model_};
  Vector<GraphShape, Tag::columns> shapes_;
  GraphList batch_;
};

TEST_F(BlockEngineTest, GradientsAreTheSameBitsForAnyThreadsSlabAndPrefetch) {
  const auto single = engine(1);
  const double loss = single->gradient(batch_, kTraining);
  const std::vector<float> expected = bits(*single);
  for (const int threads : {1, 2, 4})
    for (const int64_t range : {int64_t{0}, range_bytes(), range_bytes() / 3})
      for (const int64_t prefetch : {0, 3}) {
        const auto many = engine(threads, kLimits, range, prefetch);
        for (int round = 0; round < 2; ++round) {
          many->runner().expect(batch_);
          EXPECT_EQ(many->gradient(batch_, kTraining), loss);
          EXPECT_EQ(bits(*many), expected) << threads << " threads, range " << range;
        }
        EXPECT_EQ(many->runner().reruns(), 0);
      }
}

TEST_F(BlockEngineTest, RecomputedLayersChangeNoBit) {
  const auto single = engine(1);
  const double loss = single->gradient(batch_, kTraining);
  const std::vector<float> expected = bits(*single);
  for (const int threads : {1, 4})
    for (const int64_t range : {int64_t{0}, range_bytes(true), range_bytes(true) / 3}) {
      const auto many = engine(threads, kLimits, range, 2, /*recompute=*/true);
      EXPECT_EQ(many->gradient(batch_, kTraining), loss);
      EXPECT_EQ(bits(*many), expected) << threads << " threads, range " << range;
    }
}

TEST_F(BlockEngineTest, EveryTensorOfABlockGoesWhereItWasPlanned) {
  const double loss = engine(1)->gradient(batch_, kTraining);
  for (const bool recompute : {false, true}) {
    const auto engine4 = planned(4, recompute);
    std::vector<float> logits(2 * batch_.size());
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(engine4->gradient(batch_, kTraining), loss);
      engine4->predict(batch_, logits);
    }
    EXPECT_EQ(engine4->runner().overflows(), 0);
    EXPECT_EQ(engine4->runner().unforeseen(), 0);
  }
}

TEST_F(BlockEngineTest, AStepTakesNothingFromTheLedgerOnceTheSlabIsThere) {
  const auto engine2 = planned(2);
  engine2->gradient(batch_, kTraining);  // The workers' blocks of graphs reach their final size.
  engine2->gradient(batch_, kTraining);
  Ledger& ledger = Ledger::process();
  const int64_t held = ledger.held();
  const int64_t blocks = ledger.held(Tag::blocks);
  ledger.begin_recent();
  engine2->gradient(batch_, kTraining);
  // Only memory for blocks of graphs may grow, if a worker gets a larger one than before.
  EXPECT_EQ(ledger.held() - held, ledger.held(Tag::blocks) - blocks);
  EXPECT_LT(ledger.recent_peak() - held, 100'000);
}

TEST_F(BlockEngineTest, AnyCutOfABatchGivesTheGradientOfTheWholeBatch) {
  const auto whole = engine(1, {1000, 1'000'000, 1'000'000});
  const double loss = whole->gradient(batch_, kTraining);
  const std::vector<float> expected = bits(*whole);
  const double norm = std::sqrt(std::inner_product(expected.begin(), expected.end(), expected.begin(), 0.0));
  for (const BlockLimits& limits :
       {BlockLimits{1, 4096, 16384}, BlockLimits{7, 4096, 16384}, BlockLimits{64, 90, 16384}}) {
    const auto cut = engine(2, limits);
    EXPECT_NEAR(cut->gradient(batch_, kTraining), loss, 1e-6 * loss);
    const std::vector<float> found = bits(*cut);
    double difference = 0;
    for (size_t i = 0; i < found.size(); ++i)
      difference += (found[i] - expected[i]) * static_cast<double>(found[i] - expected[i]);
    EXPECT_LT(std::sqrt(difference), 1e-6 * norm);
  }
}

TEST_F(BlockEngineTest, DropoutDependsOnTheEpochAndIsOffWhenPredicting) {
  const auto single = engine(1);
  single->gradient(batch_, kTraining);
  const std::vector<float> first = bits(*single);
  single->gradient(batch_, {.training = true, .seed = 9, .epoch = 3});
  EXPECT_NE(bits(*single), first);
  std::vector<float> logits(2 * batch_.size());
  std::vector<float> again(2 * batch_.size());
  EXPECT_EQ(single->predict(batch_, logits), engine(3)->predict(batch_, again));
  EXPECT_EQ(logits, again);
}

// At every cap the gradient either has the same bits, or a typed refusal leaves nothing behind.
class AShortBudget : public BlockEngineTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Recomputed, AShortBudget, ::testing::Bool());

TEST_P(AShortBudget, ChangesNoBit) {
  Ledger& ledger = Ledger::process();
  const auto single = engine(1);
  single->gradient(batch_, kTraining);
  const std::vector<float> expected = bits(*single);
  // The slab is too small for some blocks, which need the rest of the ledger.
  ExecutionPlan execution = plan(4, GetParam()).execution;
  execution.slab_bytes = execution.min_bytes / 2;
  const auto engine4 = std::make_unique<BlockEngine>(source_, shapes_, objective_, kLimits, execution);
  engine4->gradient(batch_, kTraining);
  const int64_t alone = execution.min_bytes;
  int64_t reruns = 0;
  int refused = 0;
  for (int percent = 10; percent <= 300; percent += 10) {
    // Workers keep their blocks of graphs; everything else is freed.
    const auto held = [&] { return ledger.held() - ledger.held(Tag::blocks); };
    const int64_t held_before = held();
    ledger.set_cap(ledger.held() + alone * percent / 100);
    const int64_t before = engine4->runner().reruns();
    try {
      engine4->gradient(batch_, kTraining);
      EXPECT_EQ(bits(*engine4), expected) << percent;
    } catch (const BudgetExceeded&) {
      ++refused;
      EXPECT_LT(percent, 120);
    }
    EXPECT_EQ(held(), held_before) << percent;
    reruns += engine4->runner().reruns() - before;
    ledger.set_cap(Ledger::kUnlimited);
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(reruns, 0);
}

TEST_F(BlockEngineTest, AFeatureThatIsNoNumberIsAnErrorThatNamesIt) {
  source_.graph(17).x[1] = std::numeric_limits<float>::quiet_NaN();
  for (const BlockLimits& limits : {BlockLimits{1, 4096, 16384}, BlockLimits{8, 4096, 16384}}) {
    const auto two = engine(2, limits);
    EXPECT_THAT(error_text<InputError>([&] { two->gradient(batch_, kTraining); }),
                ::testing::HasSubstr("graph 17: the feature 1 of node 0 is nan"));
    std::vector<float> logits(2 * batch_.size());
    EXPECT_THAT(error_text<InputError>([&] { two->predict(batch_, logits); }),
                ::testing::HasSubstr("graph 17: the feature 1 of node 0 is nan"));
  }
}

// One bit of a feature's exponent is damaged.
TEST_F(BlockEngineTest, AFeatureThatIsFarTooLargeIsAnErrorThatNamesIt) {
  for (size_t column = 1; column < 7; ++column) source_.graph(17).x[column] = 3e38F;
  EXPECT_THAT(error_text<InputError>([&] { engine(2)->gradient(batch_, kTraining); }),
              ::testing::AllOf(::testing::HasSubstr("graph 17: the feature 1 of node 0 is 3e+38"),
                               ::testing::Not(::testing::HasSubstr("learning_rate"))));
}

TEST_F(BlockEngineTest, AnInfiniteLossIsAnErrorThatNamesTheGraph) {
  // The weights are as after a step that was too large, so the first graph has no finite loss.
  model_.parameters().entries().back().value.detach().fill_(std::numeric_limits<float>::infinity());
  const std::string graph = "for graph " + std::to_string(batch_[0]) + ",";
  for (const BlockLimits& limits : {BlockLimits{1, 4096, 16384}, BlockLimits{8, 4096, 16384}}) {
    const auto two = engine(2, limits);
    EXPECT_THAT(error_text<Failure>([&] { two->gradient(batch_, kTraining); }),
                ::testing::AllOf(::testing::HasSubstr(graph), ::testing::HasSubstr("learning_rate")));
    std::vector<float> logits(2 * batch_.size());
    EXPECT_THAT(error_text<Failure>([&] { two->predict(batch_, logits); }), ::testing::HasSubstr(graph));
  }
}

TEST_F(BlockEngineTest, AnIdOutsideTheEmbeddingIsAnErrorNotARead) {
  source_.graph(4).x[0] = 50;
  EXPECT_ANY_THROW(engine(1)->gradient(batch_, kTraining));
}

TEST_F(BlockEngineTest, TheFlightFollowsTheBudget) {
  Ledger& ledger = Ledger::process();
  plan(4);  // The first blocks of a process cause malloc to request more memory from the system.
  // A plan is in the ledger as long as it lives, so each ends before the next is made.
  int64_t budget_of_two = 0, min_budget = 0, range_bytes = 0;
  {
    const MemoryPlan four = plan(4);
    EXPECT_EQ(four.execution.blocks, 4);
    EXPECT_EQ(four.execution.prefetch, 2);
    EXPECT_TRUE(four.exact) << four.why_inexact;
    budget_of_two = four.speed[1].budget;
    min_budget = four.min_budget;
    range_bytes = four.worst.range_bytes;
  }
  // With no memory outside the ledger, a budget is a cap.
  const int64_t held = ledger.held();
  ledger.set_cap(budget_of_two);
  EXPECT_EQ(plan(4).execution.blocks, 2);
  ledger.set_cap(budget_of_two - 1);
  EXPECT_EQ(plan(4).execution.blocks, 1);
  ledger.set_cap(min_budget);
  {
    const MemoryPlan min = plan(4);
    EXPECT_EQ(min.execution.blocks, 1);
    EXPECT_EQ(min.worst.range_bytes, range_bytes);
    EXPECT_EQ(min.min_budget, min_budget);
  }
  ledger.set_cap(min_budget - 1);
  EXPECT_FALSE(plan(4).feasible);
  EXPECT_THROW(require_feasible(plan(4)), BudgetTooSmall);
  EXPECT_EQ(ledger.held(), held);
}

// The engine needs only an objective: here a plain torch module with its own loss.
class MeanFeature : public Objective {
 public:
  MeanFeature() { weight_ = parameters_.add("weight", {11, 1}, Init::linear(11)); }
  const ParameterList& parameters() const override { return parameters_; }
  CollateOptions collate_options() const override { return {}; }
  int64_t outputs() const override { return 1; }
  at::Tensor forward(const Batch& batch, const DropoutKey&) const override {
    return segment_reduce(at::mm(batch.x, weight_), batch.graph_ptr, Reduce::mean);
  }
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override {
    return (outputs.squeeze(1) - batch.y).square();
  }

 private:
  ParameterList parameters_{1};
  at::Tensor weight_;
};

TEST_F(BlockEngineTest, AnyObjectiveTrains) {
  const MeanFeature objective;
  BlockEngine two(source_, shapes_, objective, kLimits, {.blocks = 2});
  const auto optimizer =
      make_optimizer({objective.parameters().entries()[0].value},
                     {.kind = OptimizerKind::sgd, .learning_rate = 1e-4, .weight_decay = 0});
  const double before = two.gradient(batch_, kTraining);
  for (int step = 0; step < 20; ++step) {
    two.gradient(batch_, kTraining);
    optimizer->step(two.gradients());
  }
  EXPECT_LT(two.gradient(batch_, kTraining), before);
}

// Graphs without nodes, with one node, without edges, and with only self-loops, in blocks of one graph and of
// all graphs.
TEST_F(BlockEngineTest, OddGraphsTrainThroughEveryConvolutionAndNorm) {
  const auto make = [](GraphBlock& graph, int64_t nodes, std::vector<int32_t> edges) {
    graph.x.assign(static_cast<size_t>(nodes * 11), 1);
    graph.edge_attr.assign(edges.size() / 2 * 11, 0.5F);
    graph.edges.assign(edges.begin(), edges.end());
    graph.node_ptr = {0, nodes};
    graph.edge_ptr = {0, static_cast<int64_t>(edges.size() / 2)};
  };
  make(source_.graph(0), 0, {});
  make(source_.graph(1), 1, {});
  make(source_.graph(2), 1, {0, 0});
  make(source_.graph(4), 3, {});
  make(source_.graph(6), 2, {0, 1, 0, 1, 1, 1});
  const auto shapes = read_shapes(source_, 1);
  const std::vector<int64_t> odd = {0, 1, 2, 4, 6};
  for (const ConvKind conv : all_values<ConvKind>())
    for (const NormKind norm : all_values<NormKind>())
      for (const int64_t graphs : {1, 100}) {
        const Gnn model({.conv = conv, .in_features = 11, .edge_features = 11, .hidden = 8, .norm = norm}, 1);
        const Classification objective(model);
        BlockEngine two(source_, shapes, objective, {graphs, 1000, 1000}, {.blocks = 2});
        EXPECT_TRUE(std::isfinite(two.gradient(odd, kTraining))) << word_of(conv) << " " << word_of(norm);
        std::vector<float> logits(2 * odd.size());
        EXPECT_TRUE(std::isfinite(two.predict(odd, logits))) << word_of(conv) << " " << word_of(norm);
        two.gradient(std::span(odd).first(1), kTraining);  // A batch without nodes.
      }
}

TEST_F(BlockEngineTest, LabelsBeyond32BitsAreRefusedWithTheGraph) {
  source_.graph(9).y[0] = (int64_t{1} << 32) + 1;
  EXPECT_THAT(error_text<InputError>([&] { read_shapes(source_, 2); }),
              ::testing::HasSubstr("graph 9 has the label 4294967297"));
}

}  // namespace
}  // namespace plimsoll
