// A run needs the memory that its plan says.

#include "engine/plan/planner.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <random>

#include "engine/blocks/run_blocks.h"
#include "engine/plan/operation_names.h"
#include "engine/plan/static_tape.h"
#include "engine/plan/warm_up.h"
#include "memory/ledger.h"
#include "nn/classification.h"
#include "nn/gnn.h"
#include "ops/allocator.h"
#include "support/all_values.h"
#include "support/any_model.h"

namespace plimsoll {
namespace {

class PlannerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(2);
  }
};

// Random blocks of training, and the blocks of prediction.
struct RandomBlocks {
  RandomBlocks(const AnyGraphs& graphs, const BlockLimits& limits, std::mt19937_64& random) {
    visit_training_blocks(
        {graphs.all, nullptr, 3}, 2, 100, graphs.shapes, limits, 1 << 20,
        [&](std::span<const int64_t> block) { training.emplace_back(block.begin(), block.end()); });
    std::shuffle(training.begin(), training.end(), random);
    visit_blocks(graphs.all, graphs.shapes, limits,
                 [&](std::span<const int64_t> block) { predicted.emplace_back(block.begin(), block.end()); });
  }

  // Calls visit(graphs, training) for up to four training blocks, if the model is trained, and for one
  // prediction block.
  template <typename Visit>
  void visit_some(bool trains, std::mt19937_64& random, const Visit& visit) const {
    for (size_t b = 0; b < std::min<size_t>(training.size(), 5); ++b) {
      const bool in_training = trains && b != 4;
      visit(in_training ? training[b] : predicted[random() % predicted.size()], in_training);
    }
  }

  std::vector<GraphList> training, predicted;
};

BlockLimits random_limits(std::mt19937_64& random) {
  const int64_t graphs = 1 + static_cast<int64_t>(random() % 100);
  const int64_t nodes = 200 + static_cast<int64_t>(random() % 5000);
  return {graphs, nodes, 20'000};
}

PlanInput input_for(const AnyGraphs& graphs, const AnyModel& model, const GraphList& training,
                    const BlockLimits& limits) {
  return {.source = &graphs.source(),
          .shapes = graphs.shapes,
          .objective = model.objective.get(),
          .limits = limits,
          .training = training,
          .seed = 3,
          .epochs = 2,
          .batch_size = 100,
          .predicted = {graphs.all}};
}

std::string describe(const GraphBlock& block) {
  return fmt::format("block of {} graphs, {} nodes, {} edges", block.graphs(), block.nodes(),
                     block.edge_count());
}

// Compares plans with blocks that run.
struct Accuracy {
  void compare(BlockEngine& engine, const BlockPlan& planned, const GraphList& graphs,
               const GraphBlock& block, bool training) {
    const BlockTerms terms = planned.terms(graphs);
    const int64_t expected = planned.peak(terms).bytes;
    RangePlan range;
    planned.plan(terms, range);
    const Tape tape = engine.record(block, training, range);
    const int64_t found = tape.peak().bytes;
    const std::vector<int64_t> pieces = planned.model(terms.closed).sizes(terms.terms);
    // One row of a wider tensor is contiguous, so a block of one graph needs no copies of it.
    for (size_t i = 0; i < std::min(pieces.size(), tape.pieces.size()) && block.nodes() > 1; ++i)
      EXPECT_TRUE(tape.pieces[i].bytes == pieces[i] || (block.graphs() == 1 && tape.pieces[i].bytes == 0))
          << "piece " << i << " of " << tape.pieces[i].operation << ": " << tape.pieces[i].bytes << " for "
          << pieces[i] << ", workspace " << tape.pieces[i].workspace << ", " << tape.pieces[i].pieces
          << " pieces";
    EXPECT_EQ(engine.runner().unforeseen(), 0);
    ++pairs;
    exact += found == expected;
    under += found > expected;
    EXPECT_LE(found, expected) << describe(block);
    packed.push_back(static_cast<double>(range.bytes) / static_cast<double>(std::max<int64_t>(expected, 1)));
  }

  int pairs = 0;
  int exact = 0;
  int under = 0;
  std::vector<double> packed;  // Bytes of the range divided by those of the tape's peak.
  std::vector<double> largest_packed;
};

// Goals: no error for 95 of 100 pairs of a model and a block, and no underestimate for any.
TEST_F(PlannerTest, PredictsThePeakOfRandomModelsOnRandomBlocksToTheByte) {
  const int models = std::getenv("PLIMSOLL_SLOW") != nullptr ? 500 : 105;
  std::mt19937_64 random(11);
  Accuracy found;
  for (int m = 0; m < models; ++m) {
    const AnyModel any(random);
    SCOPED_TRACE(any.what);
    const auto sizes = odd_sizes(random, 60 + random() % 200);
    const AnyGraphs graphs(random, sizes, any.teacher);
    const GraphList training = any.trains ? graphs.all : GraphList();
    const BlockLimits limits = random_limits(random);
    PlanInput input = input_for(graphs, any, training, limits);
    input.recompute = random() % 3 == 0 ? GradientCheckpointing::on : GradientCheckpointing::off;
    const MemoryPlan plan = make_plan(input);
    EXPECT_TRUE(plan.exact) << plan.why_inexact;
    BlockEngine engine(graphs.source(), graphs.shapes, *any.objective, limits,
                       {.recompute = input.recompute == GradientCheckpointing::on});
    GraphBlock block;
    RandomBlocks(graphs, limits, random)
        .visit_some(any.trains, random, [&](const GraphList& of_block, bool in_training) {
          graphs.source().read(of_block, block);
          found.compare(engine, in_training ? *plan.training : *plan.prediction, of_block, block,
                        in_training);
        });
    found.largest_packed.push_back(static_cast<double>(plan.worst.range_bytes) /
                                   static_cast<double>(plan.worst.peak_bytes));
  }
  std::ranges::sort(found.packed);
  std::ranges::sort(found.largest_packed);
  const auto at = [](const std::vector<double>& values, double share) {
    return 100 * (values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))] - 1);
  };
  printf(
      "%d of %d exact, %d under; range over peak: worst block median %.2f %%, 90 %% %.2f %%, most %.2f %%; "
      "any block %.2f, %.2f, %.2f\n",
      found.exact, found.pairs, found.under, at(found.largest_packed, 0.5), at(found.largest_packed, 0.9),
      at(found.largest_packed, 1), at(found.packed, 0.5), at(found.packed, 0.9), at(found.packed, 1));
  EXPECT_GE(found.exact, found.pairs * 95 / 100) << "of " << found.pairs;
  EXPECT_EQ(found.under, 0);
  EXPECT_LE(at(found.largest_packed, 0.9), 3);
}

// Compares tapes that are recorded without data with those of blocks that run.
struct StaticAccuracy {
  void compare(const Tape& tape, const Tape& real, int64_t expected, const GraphBlock& block) {
    const int64_t found = real.peak().bytes;
    bool same = real.pieces.size() == tape.pieces.size();
    for (size_t i = 0; same && i < real.pieces.size(); ++i)
      same = real.pieces[i].bytes == tape.pieces[i].bytes && real.pieces[i].taken == tape.pieces[i].taken &&
             real.pieces[i].given == tape.pieces[i].given;
    same_events += same;
    under += found > expected;
    EXPECT_LE(found, expected) << describe(block);
    over.push_back(static_cast<double>(expected) / static_cast<double>(std::max<int64_t>(found, 1)));
  }

  std::vector<double> over;
  int under = 0;
  int same_events = 0;
};

MemoryPlan plan_without_data(PlanInput input, bool recompute) {
  const Ledger& ledger = Ledger::process();
  const int64_t held = ledger.held(Tag::activations);
  Ledger::process().begin_recent();
  input.recompute = recompute ? GradientCheckpointing::on : GradientCheckpointing::off;
  input.estimation = Estimation::from_shapes;
  MemoryPlan plan = make_plan(input);
  EXPECT_EQ(ledger.held(Tag::activations), held);
  EXPECT_LT(ledger.recent_peak() - ledger.held(), 1 << 20);
  EXPECT_EQ(plan.verified_peak_bytes, 0);
  return plan;
}

// Goals without running anything: no underestimate, and a median overestimate of at most 5 %.
TEST_F(PlannerTest, IsNeverUnderThePeakWithoutRunningAnything) {
  const int models = std::getenv("PLIMSOLL_SLOW") != nullptr ? 500 : 105;
  std::mt19937_64 random(13);
  StaticAccuracy found;
  std::vector<double> ms;
  for (int m = 0; m < models; ++m) {
    std::mt19937_64 again = random;
    const AnyModel any(random);
    std::optional<MetaParameters> scope(std::in_place);
    const AnyModel without_data(again);
    scope.reset();
    SCOPED_TRACE(any.what);
    const auto sizes = odd_sizes(random, 60 + random() % 200);
    const AnyGraphs graphs(random, sizes, any.teacher);
    const GraphList training = any.trains ? graphs.all : GraphList();
    const BlockLimits limits = random_limits(random);
    const bool recompute = random() % 3 == 0;
    const MemoryPlan plan = plan_without_data(input_for(graphs, without_data, training, limits), recompute);
    BlockEngine engine(graphs.source(), graphs.shapes, *any.objective, limits, {.recompute = recompute});
    GraphBlock block;
    const auto compare = [&](const GraphList& of_block, bool in_training) {
      graphs.source().read(of_block, block);
      const BlockPlan& planned = in_training ? *plan.training : *plan.prediction;
      const BlockTerms terms = planned.terms(of_block);
      const NameOperations names;
      const auto start = std::chrono::steady_clock::now();
      const Tape tape =
          tape_without_data(*without_data.objective, terms, graphs.source().widths(), in_training, recompute);
      ms.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
      found.compare(tape, engine.record(block, in_training), planned.peak(terms).bytes, block);
    };
    RandomBlocks(graphs, limits, random).visit_some(any.trains, random, compare);
  }
  std::ranges::sort(found.over);
  std::ranges::sort(ms);
  const auto at = [](const std::vector<double>& values, double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  };
  printf(
      "%zu blocks, %d under, %d with the same events; over the peak: median %.3f %%, 90 %% %.3f %%, most "
      "%.3f %%; a tape: median %.2f ms, most %.2f ms\n",
      found.over.size(), found.under, found.same_events, 100 * at(found.over, 0.5) - 100,
      100 * at(found.over, 0.9) - 100, 100 * at(found.over, 1) - 100, at(ms, 0.5), at(ms, 1));
  EXPECT_EQ(found.under, 0);
  EXPECT_LE(at(found.over, 0.5), 1.05);
}

// Operators use another code path for a graph that is too large for a piece.
TEST_F(PlannerTest, IsNotUnderThePeakOfALargeGraphWithoutRunningIt) {
  const OddGraphs source(5, std::vector<int64_t>{9000, 30, 2});
  const auto shapes = read_shapes(source, 1);
  const GraphList all{0, 1, 2};
  for (const ConvKind conv : all_values<ConvKind>())
    for (const bool recompute : {false, true}) {
      SCOPED_TRACE(word_of(conv));
      const GnnOptions options{.conv = conv,
                               .in_features = OddGraphs::kFeatures,
                               .edge_features = OddGraphs::kFeatures,
                               .layers = 2,
                               .hidden = 16,
                               .heads = 2,
                               .classes = 3};
      const Gnn model(options, 1);
      std::optional<MetaParameters> scope(std::in_place);
      const Gnn bare(options, 1);
      scope.reset();
      const Classification objective(model);
      const Classification without_data(bare);
      BlockEngine engine(source, shapes, objective, {}, {.recompute = recompute});
      const BlockTerms terms = terms_of(all, {shapes}, objective.collate_options());
      EXPECT_FALSE(terms.closed);
      for (const bool training : {false, true}) {
        const int64_t found = engine.record(source.block(), training).peak().bytes;
        const int64_t expected =
            tape_without_data(without_data, terms, {OddGraphs::kFeatures, OddGraphs::kFeatures}, training,
                              recompute)
                .peak()
                .bytes;
        EXPECT_LE(found, expected);
        EXPECT_LE(expected, found + found / 20);
      }
    }
}

// A recipe's batch may be larger than the data set.
TEST_F(PlannerTest, NeedsNothingForMoreGraphsThanThereAre) {
  const OddGraphs source(7, std::vector<int64_t>{5, 6, 7, 4});
  const auto shapes = read_shapes(source, 1);
  const GraphList all{0, 1, 2, 3};
  const Gnn model({.in_features = OddGraphs::kFeatures, .edge_features = OddGraphs::kFeatures, .classes = 3},
                  1);
  const Classification objective(model);
  const Curriculum unknown(CurriculumKind::kdgat, all, shapes, {}, 1);
  const auto min = [&](int64_t batch_size) {
    return make_plan({.source = &source,
                      .shapes = shapes,
                      .objective = &objective,
                      .training = all,
                      .curriculum = &unknown,
                      .epochs = 1,
                      .batch_size = batch_size,
                      .predicted = {all},
                      .recompute = GradientCheckpointing::off})
        .min_budget;
  };
  min(4);  // On some machines the first plan of a process includes memory that libraries allocate once.
  EXPECT_EQ(min(1'000'000'000'000), min(4));
}

/// An objective whose allocations depend on values.
class OnlyWithData : public VgaeLike {
 public:
  using VgaeLike::VgaeLike;
  at::Tensor losses(const at::Tensor& outputs, const Batch&) const override {
    return outputs.index_select(0, at::nonzero(outputs.select(1, 0)).select(1, 0)).sum(1);
  }
};

TEST_F(PlannerTest, NamesWhatCannotBePlannedWithoutData) {
  const OddGraphs source(1, std::vector<int64_t>{5, 6, 7});
  const auto shapes = read_shapes(source, 1);
  const GraphList all{0, 1, 2};
  const MetaParameters without_data;
  const OnlyWithData objective(1, 8, 1);
  try {
    make_plan({.source = &source,
               .shapes = shapes,
               .objective = &objective,
               .predicted = {all},
               .estimation = Estimation::from_shapes});
    FAIL() << "planned";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("nonzero"), std::string::npos) << text;
    EXPECT_NE(text.find("measured"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace plimsoll
