// A run on samples whose layers are trimmed to their hops needs the memory that its plan says.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include "engine/plan/planner.h"
#include "engine/plan/static_tape.h"
#include "engine/plan/warm_up.h"
#include "memory/ledger.h"
#include "nn/classification.h"
#include "nn/gnn.h"
#include "nn/link_prediction.h"
#include "ops/allocator.h"
#include "support/sample_source.h"

namespace plimsoll {
namespace {

constexpr auto kNone = std::numeric_limits<int64_t>::max();
constexpr BlockLimits kOneSample{.graphs = 1, .nodes = kNone, .edges = kNone};

// Every tenth model gets samples with enough seeds for all hops to have several chunks and parts.
bool large(int model) {
  return model % 10 == 9;
}
int64_t max_seeds(int model) {
  return large(model) ? 2500 : 40;
}

// Every third model predicts pairs of seeds.
bool of_pairs(int model) {
  return model % 3 == 2;
}

std::unique_ptr<Objective> objective_of(const Gnn& model, bool pairs) {
  if (pairs) return std::make_unique<LinkPrediction>(model);
  return std::make_unique<Classification>(model);
}

// A random model that predicts seeds. Each kind of layer gets large samples.
GnnOptions any_options(std::mt19937_64& random, int64_t layers, int model) {
  const auto pick = [&](auto... values) {
    const std::vector list{values...};
    return list[random() % list.size()];
  };
  return {.conv = static_cast<ConvKind>(large(model) ? model / 10 % 5 : random() % 5),
          .in_features = SampleSource::kFeatures,
          .layers = layers,
          .hidden = large(model) ? 64 : pick(8, 16, 32),
          .heads = pick(1, 2, 4),
          .norm = pick(NormKind::none, NormKind::batch, NormKind::graph),
          .jk = pick(LayerJoin::last, LayerJoin::cat, LayerJoin::max),
          .dropout = random() % 2 == 0 ? 0.3 : 0.0,
          .classes = 3,
          .node_head = true};
}

struct Samples {
  Samples(std::mt19937_64& random, int64_t hops, int64_t max_seeds, bool pairs)
      : source(random(), 24, hops, max_seeds, pairs), shapes(read_shapes(source, 1)), all(shapes.size()) {
    std::iota(all.begin(), all.end(), int64_t{0});
  }
  PlanInput input(const Objective& objective, bool recompute, Estimation estimation) const {
    return {.source = &source,
            .shapes = shapes,
            .objective = &objective,
            .limits = kOneSample,
            .training = all,
            .seed = 3,
            .epochs = 2,
            .batch_size = 4,
            .predicted = {all},
            .recompute = recompute ? GradientCheckpointing::on : GradientCheckpointing::off,
            .estimation = estimation};
  }
  SampleSource source;
  Vector<GraphShape, Tag::columns> shapes;
  GraphList all;
};

class SamplePlanTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(2);
  }
  static int models() { return std::getenv("PLIMSOLL_SLOW") != nullptr ? 200 : 50; }
};

TEST_F(SamplePlanTest, PredictsThePeakOfRandomModelsToTheByte) {
  std::mt19937_64 random(17);
  for (int m = 0; m < models(); ++m) {
    const int64_t hops = large(m) ? 2 : 1 + static_cast<int64_t>(random() % 3);
    const int64_t layers = large(m) ? 2 : 1 + static_cast<int64_t>(random() % 4);
    const Samples samples(random, hops, max_seeds(m), of_pairs(m));
    const GnnOptions options = any_options(random, layers, m);
    const Gnn model(options, 1);
    const std::unique_ptr<Objective> objective_there = objective_of(model, of_pairs(m));
    const Objective& objective = *objective_there;
    const bool recompute = random() % 3 == 0;
    SCOPED_TRACE(testing::Message() << word_of(options.conv) << ", norm " << word_of(options.norm) << ", jk "
                                    << word_of(options.jk) << ", " << layers << " layers, " << hops
                                    << " hops, model " << m);
    const MemoryPlan plan = make_plan(samples.input(objective, recompute, Estimation::measured));
    EXPECT_TRUE(plan.exact) << plan.why_inexact;
    BlockEngine engine(samples.source, samples.shapes, objective, kOneSample, {.recompute = recompute});
    GraphBlock block;
    for (const int64_t graph : samples.all) {
      const std::span only(&graph, 1);
      samples.source.read(only, block);
      const bool several_seeds = samples.source.sample(graph).nodes_per_hop[0] > 1;
      for (const bool training : {true, false}) {
        const BlockPlan& planned = training ? *plan.training : *plan.prediction;
        const BlockTerms terms = planned.terms(only);
        RangePlan range;
        planned.plan(terms, range);
        const Tape tape = engine.record(block, training, range);
        if (several_seeds) {
          EXPECT_EQ(tape.peak().bytes, planned.peak(terms).bytes) << "sample " << graph;
        }
        EXPECT_LE(range.bytes, plan.worst.range_bytes);
      }
    }
    EXPECT_EQ(engine.runner().unforeseen(), 0);
    EXPECT_EQ(engine.runner().overflows(), 0);
  }
}

TEST_F(SamplePlanTest, IsNeverUnderThePeakWithoutRunningAnything) {
  std::mt19937_64 random(19);
  std::vector<double> over;
  for (int m = 0; m < models(); ++m) {
    const int64_t hops = large(m) ? 2 : 1 + static_cast<int64_t>(random() % 3);
    const int64_t layers = large(m) ? 2 : 1 + static_cast<int64_t>(random() % 4);
    const Samples samples(random, hops, max_seeds(m), of_pairs(m));
    const GnnOptions options = any_options(random, layers, m);
    const Gnn model(options, 1);
    std::optional<MetaParameters> scope(std::in_place);
    const Gnn bare(options, 1);
    scope.reset();
    const std::unique_ptr<Objective> objective_there = objective_of(model, of_pairs(m));
    const Objective& objective = *objective_there;
    const std::unique_ptr<Objective> objective_bare = objective_of(bare, of_pairs(m));
    const Objective& without_data = *objective_bare;
    const bool recompute = random() % 3 == 0;
    SCOPED_TRACE(testing::Message() << word_of(options.conv) << ", norm " << word_of(options.norm) << ", jk "
                                    << word_of(options.jk) << ", " << layers << " layers, " << hops
                                    << " hops, model " << m);
    const MemoryPlan plan = make_plan(samples.input(without_data, recompute, Estimation::from_shapes));
    BlockEngine engine(samples.source, samples.shapes, objective, kOneSample, {.recompute = recompute});
    GraphBlock block;
    for (const int64_t graph : samples.all) {
      if (samples.source.sample(graph).nodes_per_hop[0] < 2) continue;
      const std::span only(&graph, 1);
      samples.source.read(only, block);
      for (const bool training : {true, false}) {
        const BlockPlan& planned = training ? *plan.training : *plan.prediction;
        const int64_t expected = planned.peak(planned.terms(only)).bytes;
        const int64_t found = engine.record(block, training).peak().bytes;
        EXPECT_LE(found, expected);
        over.push_back(static_cast<double>(expected) / static_cast<double>(found));
      }
    }
  }
  std::ranges::nth_element(over, over.begin() + std::ssize(over) / 2);
  EXPECT_LE(over[over.size() / 2], 1.05) << "in the median";
}

}  // namespace
}  // namespace plimsoll
