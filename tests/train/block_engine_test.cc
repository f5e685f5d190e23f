#include "train/block_engine.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "base/error.h"
#include "memory/ledger.h"
#include "nn/gat_with_jk.h"
#include "ops/allocator.h"
#include "train/preflight.h"
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

  BlockEngine engine(int threads, const BlockLimits& limits = {8, 4096, 16384}) {
    return {source_, shapes_, model_, limits, threads};
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
  GATWithJK model_{{.num_ids = 50}, 3};
  Vector<GraphShape, Tag::columns> shapes_;
  GraphList batch_;
};

TEST_F(BlockEngineTest, GradientsAreTheSameBitsForAnyNumberOfThreads) {
  BlockEngine one = engine(1);
  const double loss = one.gradient(batch_, kTraining);
  const std::vector<float> expected = bits(one);
  for (const int threads : {2, 4}) {
    BlockEngine many = engine(threads);
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(many.gradient(batch_, kTraining), loss);
      EXPECT_EQ(bits(many), expected);
    }
  }
}

TEST_F(BlockEngineTest, AnyCutOfABatchGivesTheGradientOfTheWholeBatch) {
  BlockEngine whole = engine(1, {1000, 1'000'000, 1'000'000});
  const double loss = whole.gradient(batch_, kTraining);
  const std::vector<float> expected = bits(whole);
  const double norm = std::sqrt(std::inner_product(expected.begin(), expected.end(), expected.begin(), 0.0));
  for (const BlockLimits& limits :
       {BlockLimits{1, 4096, 16384}, BlockLimits{7, 4096, 16384}, BlockLimits{64, 90, 16384}}) {
    BlockEngine cut = engine(2, limits);
    EXPECT_NEAR(cut.gradient(batch_, kTraining), loss, 1e-6 * loss);
    const std::vector<float> found = bits(cut);
    double difference = 0;
    for (size_t i = 0; i < found.size(); ++i)
      difference += (found[i] - expected[i]) * static_cast<double>(found[i] - expected[i]);
    EXPECT_LT(std::sqrt(difference), 1e-6 * norm);
  }
}

TEST_F(BlockEngineTest, DropoutDependsOnTheEpochAndIsOffWhenScoring) {
  BlockEngine one = engine(1);
  one.gradient(batch_, kTraining);
  const std::vector<float> first = bits(one);
  one.gradient(batch_, {.training = true, .seed = 9, .epoch = 3});
  EXPECT_NE(bits(one), first);
  std::vector<float> scores(batch_.size());
  std::vector<float> again(batch_.size());
  EXPECT_EQ(one.score(batch_, scores), engine(3).score(batch_, again));
  EXPECT_EQ(scores, again);
}

// At every cap the gradient is either the same bits or a typed refusal that leaves nothing behind.
TEST_F(BlockEngineTest, AShortBudgetChangesNoBit) {
  Ledger& ledger = Ledger::process();
  BlockEngine engine4 = engine(4);
  engine4.gradient(batch_, kTraining);
  const std::vector<float> expected = bits(engine4);
  ledger.begin_recent();
  engine(1).gradient(batch_, kTraining);
  const int64_t alone = ledger.recent_peak() - ledger.held();
  // Up to three later blocks wait for their turn with their gradients while one runs alone.
  const int64_t enough = alone + 3 * model_.parameters().count() * int64_t{sizeof(float)} + alone / 10;
  int64_t reruns = 0;
  int refused = 0;
  for (int percent = 10; percent <= 300; percent += 10) {
    const int64_t held = ledger.held();
    ledger.set_cap(held + alone * percent / 100);
    const int64_t before = engine4.reruns();
    try {
      engine4.gradient(batch_, kTraining);
      EXPECT_EQ(bits(engine4), expected) << percent;
    } catch (const BudgetExceeded&) {
      ++refused;
      EXPECT_LT(alone * percent / 100, enough);
    }
    EXPECT_EQ(ledger.held(), held) << percent;
    reruns += engine4.reruns() - before;
    ledger.set_cap(Ledger::kUnlimited);
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(reruns, 0);
}

TEST_F(BlockEngineTest, AnInfiniteLossIsAnErrorThatNamesTheGraphs) {
  source_.graph(17).x[1] = std::numeric_limits<float>::quiet_NaN();
  BlockEngine one = engine(2, {1, 4096, 16384});
  try {
    one.gradient(batch_, kTraining);
    FAIL() << "no error";
  } catch (const Failure& error) {
    EXPECT_NE(std::string(error.what()).find("graphs 17 .. 17"), std::string::npos) << error.what();
  }
}

TEST_F(BlockEngineTest, AnIdOutsideTheEmbeddingIsAnErrorNotARead) {
  source_.graph(4).x[0] = 50;
  EXPECT_ANY_THROW(engine(1).gradient(batch_, kTraining));
}

TEST_F(BlockEngineTest, BlocksInFlightFollowTheBudget) {
  Ledger& ledger = Ledger::process();
  const BlockLimits limits{8, 4096, 16384};
  const auto in_flight = [&](int threads) {
    return blocks_in_flight(source_, shapes_, model_, limits, batch_, true, threads);
  };
  EXPECT_EQ(in_flight(4), 4);
  ledger.begin_recent();
  in_flight(1);
  const int64_t one = ledger.recent_peak() - ledger.held();
  ledger.set_cap(ledger.held() + one * 5 / 2);
  EXPECT_EQ(in_flight(4), 2);
  ledger.set_cap(ledger.held() + one * 11 / 10);
  EXPECT_EQ(in_flight(4), 1);
  ledger.set_cap(ledger.held() + one * 6 / 10);
  EXPECT_THROW(in_flight(4), BudgetTooSmall);
}

}  // namespace
}  // namespace plimsoll
