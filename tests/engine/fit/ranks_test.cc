#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>

#include "engine/blocks/lane_exchange.h"
#include "engine/blocks/shared_prediction.h"
#include "engine/fit/fit.h"
#include "engine/plan/warm_up.h"
#include "nn/classification.h"
#include "nn/gat_with_jk.h"
#include "ops/allocator.h"
#include "support/random_graphs.h"
#include "support/temp_folder.h"
#include "support/thread_ranks.h"

namespace plimsoll {
namespace {

/// Classification that calls `before` in each training block, which ends the run on the rank that the test
/// chooses.
class EndedClassification : public Classification {
 public:
  EndedClassification(const GraphModel& model, std::function<void()> before)
      : Classification(model), before_(std::move(before)) {}
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override {
    if (key.training && key.epoch > 0) before_();  // Does not count the blocks of the plan.
    return Classification::forward(batch, key);
  }

 private:
  const std::function<void()> before_;
};

/// Graphs that are asked to stop while the second epoch is prepared.
class StoppedGraphs : public RandomGraphs {
 public:
  using RandomGraphs::RandomGraphs;
  void prepare(std::span<const int64_t>, const std::function<void()>&) const override {
    if (++epochs_ == 2) throw Interrupted("stopped while samples are drawn");
  }

 private:
  mutable int64_t epochs_ = 0;
};

/// The rank on which a run is asked to stop, and the index of the block in which it stops.
struct Stop {
  int rank = -1;
  int64_t block = 0;
  bool kills = false;     ///< Nothing is written after the stop.
  bool prepares = false;  ///< Stops while the second epoch is prepared, not in a block.
};

class RanksTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(2);
  }
  void SetUp() override {
    shapes_ = read_shapes(source_, 1);
    split_.training.resize(96);
    split_.validation.resize(24);
    std::iota(split_.training.begin(), split_.training.end(), int64_t{0});
    std::iota(split_.validation.begin(), split_.validation.end(), int64_t{96});
    recipe_.training.max_epochs = 2;
    recipe_.training.batch_size = 32;
    recipe_.training.block.graphs = 3;
    recipe_.training.gradient_clip_val = 0.5;  // Always clips.
  }

  // Trains a new model of the same seed on `ranks` ranks; returns the hash that all of them have.
  std::string run(int ranks, const std::string& name, bool resume = false, Stop stop = {}) {
    std::mutex mutex;
    std::set<std::string> hashes;
    ThreadRanks others(ranks);
    const auto train = [&](Exchange* exchange) {
      const GATWithJK model(GatOptions{.num_ids = 50}, 3);
      std::atomic<bool> interrupt = false;
      std::atomic<int64_t> blocks = 0;
      const EndedClassification objective(model, [&] {
        if (rank_of(exchange) == stop.rank && ++blocks == stop.block) {
          if (!stop.kills)
            interrupt = true;
          else if (exchange == nullptr)
            throw Killed();
          else
            others.kill(stop.rank);
        }
        if (fails_ && rank_of(exchange) == 1) throw Failure("made up");
      });
      const std::filesystem::path folder = folder_ / name;
      std::filesystem::create_directories(folder);
      const StoppedGraphs stopped{120, 50, 7};
      const bool is_stopped = stop.prepares && rank_of(exchange) == stop.rank;
      const FitResult result = fit({.source = is_stopped ? &stopped : &source_,
                                    .shapes = shapes_,
                                    .objective = &objective,
                                    .recipe = &recipe_,
                                    .split = &split_,
                                    .run = {.folder = folder,
                                            .identity = "test",
                                            .resume = resume,
                                            .memory = {.threads = 1},
                                            .ranks = ranks,
                                            .exchange = exchange,
                                            .interrupt = &interrupt}});
      std::string text = model.parameters().hash();
      for (const EpochMetrics& epoch : result.epochs)
        text += fmt::format(" {} {} {}", epoch.training_loss, epoch.validation_loss, epoch.gradient_norm);
      const std::lock_guard lock(mutex);
      hashes.insert(text);
    };
    if (ranks == 1)
      train(nullptr);
    else
      others.run([&](Exchange& exchange) { train(&exchange); });
    EXPECT_EQ(hashes.size(), 1U);
    return *hashes.begin();
  }

  TempFolder folder_;
  RandomGraphs source_{120, 50, 7};
  Vector<GraphShape, Tag::columns> shapes_;
  TrainingSplit split_;
  Recipe recipe_;
  std::atomic<bool> fails_ = false;
};

TEST_F(RanksTest, WeightsAndLossesAreTheSameBitsForAnyNumberOfRanks) {
  const std::string alone = run(1, "1");
  for (const int ranks : {2, 3, 4}) EXPECT_EQ(run(ranks, std::to_string(ranks)), alone) << ranks << " ranks";
}

TEST_F(RanksTest, EightLanesAreThoseOfEightRanksToo) {
  recipe_.training.lanes = LaneCount::eight;
  const std::string alone = run(1, "1");
  for (const int ranks : {2, 4, 8}) EXPECT_EQ(run(ranks, std::to_string(ranks)), alone) << ranks << " ranks";
}

TEST_F(RanksTest, LanesNeedNotBeAMultipleOfRanks) {
  recipe_.training.max_epochs = 1;
  recipe_.training.optimizer = OptimizerKind::sgd;
  recipe_.training.lanes = LaneCount::eight;
  const std::string alone = run(1, "1");
  for (const int ranks : {3, 7}) EXPECT_EQ(run(ranks, std::to_string(ranks)), alone) << ranks << " ranks";
}

TEST_F(RanksTest, ACheckpointIsReadByAnyNumberOfRanks) {
  const std::string whole = run(1, "whole");
  EXPECT_THROW(run(1, "run", false, {0, 20}), Interrupted);
  EXPECT_THROW(run(3, "run", true, {1, 9}), Interrupted);
  EXPECT_THROW(run(2, "run", true, {0, 3}), Interrupted);
  EXPECT_EQ(run(4, "run", true), whole);
}

TEST_F(RanksTest, AnyScheduleOfRanksStopsAndKillsEndsInTheSameBits) {
  recipe_.training.lanes = LaneCount::eight;
  const std::string whole = run(1, "whole");
  constexpr std::array kRanks = {1, 2, 3, 4, 8};
  const int schedules = std::getenv("PLIMSOLL_SLOW") != nullptr ? 50 : 5;
  for (int s = 0; s < schedules; ++s) {
    std::mt19937 random(static_cast<unsigned>(s));
    const auto draw = [&](int first, int last) { return std::uniform_int_distribution(first, last)(random); };
    std::string schedule;
    std::string found;
    for (int start = 0; found.empty(); ++start) {
      const int ranks = kRanks[static_cast<size_t>(draw(0, 4))];
      recipe_.training.checkpoint_every_s = draw(0, 1) == 0 ? 0 : 1e9;
      Stop stop{draw(0, ranks - 1), draw(1, 80 / ranks), draw(0, 2) > 0};
      if (start == 6) stop = {};
      schedule += fmt::format(" {}{} of {}", stop.kills ? "kill " : "stop ", stop.rank, ranks);
      try {
        found = run(ranks, fmt::format("run-{}", s), true, stop);
      } catch (const Killed&) {
      } catch (const RankLost&) {
      } catch (const Interrupted&) {
      }
    }
    EXPECT_EQ(found, whole) << "schedule " << s << ":" << schedule;
  }
}

TEST_F(RanksTest, AStopWhileARankPreparesAnEpochStopsAll) {
  const std::string whole = run(1, "whole");
  for (const int rank : {0, 2}) {
    const std::string name = fmt::format("run-{}", rank);
    EXPECT_THROW(run(3, name, false, {.rank = rank, .prepares = true}), Interrupted);
    EXPECT_EQ(run(3, name, true), whole);
  }
}

TEST_F(RanksTest, APredictionIsThatOfOneProcessOnEveryRank) {
  const GATWithJK model(GatOptions{.num_ids = 50}, 3);
  const Classification objective(model);
  GraphList graphs(120);
  std::iota(graphs.begin(), graphs.end(), int64_t{0});
  using Found = std::pair<double, std::vector<float>>;
  const auto predict = [&](Exchange* exchange, int64_t graphs_of_block, int interrupted = -1) {
    const BlockLimits limits{graphs_of_block, 4096, 16384};
    BlockEngine engine(source_, shapes_, objective, limits);
    Found found;
    found.first = predict_on_ranks(engine, exchange, graphs, [&](std::span<const float> outputs) {
      if (rank_of(exchange) == interrupted) throw Interrupted("asked to");
      found.second.insert(found.second.end(), outputs.begin(), outputs.end());
    });
    return found;
  };
  // Batches with fewer blocks than ranks, and with enough blocks for several rounds.
  for (const int64_t size : {int64_t{1}, int64_t{60}}) {
    const Found alone = predict(nullptr, size);
    ASSERT_EQ(alone.second.size(), 240U);
    for (const int ranks : {2, 3})
      ThreadRanks(ranks).run(
          [&](Exchange& exchange) { EXPECT_EQ(predict(&exchange, size), alone) << ranks; });
  }
  const auto on_each = [&](Exchange& exchange) {
    EXPECT_THROW(predict(&exchange, 1, /*interrupted=*/1), Interrupted) << exchange.rank();
  };
  ThreadRanks(3).run(on_each);
}

TEST_F(RanksTest, WhatFailsOnOneRankEndsAll) {
  fails_ = true;
  try {
    run(3, "run");
    FAIL() << "no error";
  } catch (const Failure& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1 failed"), std::string::npos) << error.what();
  }
}

TEST_F(RanksTest, MoreRanksThanCanShareAStepAreRefused) {
  const auto refusal = [&](int ranks) -> std::string {
    try {
      run(ranks, "run");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_NE(refusal(5).find("5 ranks, but training.lanes is 4"), std::string::npos) << refusal(5);
  recipe_.training.batch_size = 6;
  EXPECT_NE(refusal(3).find("3 ranks, but a step has 2 blocks"), std::string::npos) << refusal(3);
}

TEST_F(RanksTest, ThePlanHasExchangeAndSliceToTheByte) {
  const GATWithJK model(GatOptions{.num_ids = 50}, 3);
  const ParameterList& parameters = model.parameters();
  const int64_t bytes = parameters.count() * 4;
  for (const int ranks : {2, 3, 4}) {
    ThreadRanks(ranks).run([&](Exchange& exchange) {
      if (exchange.rank() != 0) return;
      const int64_t before = Ledger::process().held(Tag::gradients);
      const LaneExchange lanes(exchange, parameters, 4);
      EXPECT_EQ(Ledger::process().held(Tag::gradients) - before, LaneExchange::bytes(parameters, 4, ranks));
    });
    int64_t slice = 0;
    for (const at::Tensor& value : values_of_rank(parameters, 0, ranks)) slice += value.numel() * 4;
    EXPECT_NEAR(static_cast<double>(slice), static_cast<double>(bytes) / ranks, 4.0);
    // With one node per rank the bound is 2 P, from which its own slices are subtracted.
    if (ranks != 3) {
      EXPECT_LE(LaneExchange::bytes_sent(parameters, 4, ranks), 2 * bytes);
    }
  }
}

}  // namespace
}  // namespace plimsoll
