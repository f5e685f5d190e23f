#include "engine/fit/checkpoint.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "store/safetensors.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// A small model during training.
struct Training {
  explicit Training(uint64_t seed) {
    parameters.add("weight", {3, 4}, Init::normal());
    parameters.add_buffer("running_mean", {3}, static_cast<float>(seed));
    optimizer = make_optimizer({parameters.entries()[0].value}, {});
    best = std::make_unique<BestWeights>(parameters);
  }
  void step(int count) {
    for (int i = 0; i < count; ++i) optimizer->step({at::full({3, 4}, 0.1F * static_cast<float>(i + 1))});
  }
  TrainingState state() { return {parameters, *best, *optimizer}; }
  std::map<std::string, std::vector<float>> values() {
    std::map<std::string, std::vector<float>> values;
    for (const auto& [name, span] : state().tensors()) values[name] = {span.begin(), span.end()};
    return values;
  }

  ParameterList parameters{7};
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<BestWeights> best;
};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

class CheckpointTest : public ::testing::Test {
 protected:
  Checkpoints checkpoints(const std::string& identity = "this run") {
    Checkpoints made(folder_.path() / "c", identity, R"(["here"])");
    made.make_folder();
    return made;
  }
  std::optional<Position> load(Training& training) {
    damaged_.clear();
    return checkpoints().load(training.state(), damaged_);
  }
  void damage(const std::string& name, int64_t at) {
    std::fstream file(folder_.path() / "c" / name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
    file.put('\x7f');
  }

  TempFolder folder_;
  std::vector<std::string> damaged_;
};

TEST_F(CheckpointTest, EverythingComesBackToTheBit) {
  Training trained(1);
  trained.step(3);
  trained.best->keep();
  trained.step(2);
  Position position{.epoch = 4, .step = 2, .best_epoch = 3, .best_loss = 0.1234567890123456789};
  position.so_far = {.epoch = 4, .training_loss = 1.0 / 3, .gradient_norm = 2e-17, .seconds = 0.5};
  position.epochs = {
      {1, 0.1, 1e-300, 3, 4}, {2, std::numeric_limits<double>::quiet_NaN(), 1, 2, 3}, {3, 1, 1, 1, 1}};
  checkpoints().save(trained.state(), position);

  Training other(2);
  const std::optional<Position> found = load(other);
  ASSERT_TRUE(found);
  EXPECT_EQ(other.values(), trained.values());
  EXPECT_EQ(other.optimizer->steps(), 5);
  EXPECT_EQ(found->epoch, 4);
  EXPECT_EQ(found->step, 2);
  EXPECT_EQ(found->best_epoch, 3);
  EXPECT_EQ(found->best_loss, position.best_loss);
  EXPECT_EQ(found->so_far.training_loss, 1.0 / 3);
  EXPECT_EQ(found->so_far.gradient_norm, 2e-17);
  ASSERT_EQ(found->epochs.size(), 3U);
  EXPECT_EQ(found->epochs[0].validation_loss, 1e-300);
  EXPECT_TRUE(std::isnan(found->epochs[1].training_loss));
}

TEST_F(CheckpointTest, OneWithOtherEpochsThanItsPositionIsPassedOver) {
  Training trained(1);
  Position position{.epoch = 3};
  position.epochs = {{1, 0.1, 0.2, 3, 4}};  // The first of two epochs.
  checkpoints().save(trained.state(), position);
  Training other(2);
  EXPECT_FALSE(load(other));
  EXPECT_THAT(damaged_,
              ::testing::ElementsAre(::testing::HasSubstr("'epochs' is not an I64 tensor of 2 epochs")));
}

TEST_F(CheckpointTest, WithoutABestEpochTheBestLossIsInfinite) {
  Training trained(1);
  checkpoints().save(trained.state(), {});
  Training other(2);
  EXPECT_EQ(load(other)->best_loss, std::numeric_limits<double>::infinity());
}

TEST_F(CheckpointTest, AnInfiniteBestLossComesBack) {
  Training trained(1);
  Position position{.epoch = 2, .best_epoch = 1};
  position.epochs = {{1, 0.1, std::numeric_limits<double>::infinity(), 3, 4}};
  checkpoints().save(trained.state(), position);
  Training other(2);
  const std::optional<Position> found = load(other);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->best_loss, std::numeric_limits<double>::infinity());
}

TEST_F(CheckpointTest, ItSaysHowTheRunWasRounded) {
  Training trained(1);
  trained.step(1);
  checkpoints().save(trained.state(), {});
  const SafetensorsView file(folder_.path() / "c" / "step-000000000001.safetensors");
  EXPECT_EQ(file.meta(kRoundings), R"(["here"])");
}

TEST_F(CheckpointTest, NoneIsNone) {
  Training trained(1);
  EXPECT_FALSE(load(trained));
}

TEST_F(CheckpointTest, TheLastTwoAreKeptAndWhatAKilledProcessLeftGoes) {
  Training trained(1);
  Checkpoints kept = checkpoints();
  std::ofstream(folder_.path() / "c" / ".step-000000000009.safetensors.new.123") << "half";
  for (int i = 0; i < 4; ++i) {
    trained.step(1);
    kept.save(trained.state(), {});
  }
  EXPECT_THAT(names_in(folder_.path() / "c"),
              ::testing::ElementsAre("step-000000000003.safetensors", "step-000000000004.safetensors"));
}

TEST_F(CheckpointTest, ADamagedOneIsPassedOverForTheOneBefore) {
  for (const int64_t at : {0L, 40L, -1L}) {
    Training trained(1);
    trained.step(1);
    checkpoints().save(trained.state(), {.epoch = 1});
    const auto first = trained.values();
    trained.step(1);
    checkpoints().save(trained.state(), {.epoch = 2, .epochs = {{1, 0.1, 0.2, 3, 4}}});
    damage("step-000000000002.safetensors", at);
    Training other(2);
    const std::optional<Position> found = load(other);
    ASSERT_TRUE(found) << at;
    EXPECT_EQ(found->epoch, 1);
    EXPECT_EQ(other.values(), first);
    EXPECT_THAT(damaged_, ::testing::ElementsAre(::testing::HasSubstr("step-000000000002")));
    fs::remove_all(folder_.path() / "c");
  }
}

TEST_F(CheckpointTest, AllDamagedIsNone) {
  Training trained(1);
  checkpoints().save(trained.state(), {});
  damage("step-000000000000.safetensors", -1);
  Training other(2);
  const auto before = other.values();
  EXPECT_FALSE(load(other));
  EXPECT_EQ(other.values(), before) << "half of it was loaded";
}

TEST_F(CheckpointTest, OneOfAnotherRunIsRefused) {
  Training trained(1);
  checkpoints("another recipe").save(trained.state(), {});
  EXPECT_THAT(error_text<UsageError>([&] { load(trained); }),
              ::testing::HasSubstr("another recipe or other data"));
}

}  // namespace
}  // namespace plimsoll
