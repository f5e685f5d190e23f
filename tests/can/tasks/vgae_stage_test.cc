#include "can/tasks/vgae_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "can/recipe/can_sections.h"
#include "can/tasks/detection_labels.h"
#include "can/tasks/scorer.h"
#include "engine/plan/warm_up.h"
#include "ops/allocator.h"
#include "support/errors.h"
#include "support/random_graphs.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class VgaeStageTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(2);
  }
  void SetUp() override {
    shapes_ = read_shapes(source_, 1);
    for (int64_t g = 0; g < source_.graphs(); ++g)
      (g < 100 ? split_.training : split_.validation).push_back(g);
    benign_ = benign_split(split_, shapes_);
    recipe_.training.max_epochs = 2;
    recipe_.training.batch_size = 16;
    recipe_.training.block.graphs = 4;
    can_sections(recipe_).vgae.hidden = {12};
    can_sections(recipe_).vgae.latent = 4;
  }

  VgaeStageOptions options(const TrainingSplit& split, const std::string& name) {
    std::filesystem::create_directories(folder_ / name);
    return {.source = &source_,
            .shapes = shapes_,
            .recipe = &recipe_,
            .split = &split,
            .facts = {.vocabulary = {}, .benign_ids = {{7}}},
            .run = {.folder = folder_ / name, .identity = "test", .memory = {.threads = 2}}};
  }
  std::string refused(const TrainingSplit& split) {
    const VgaeStageOptions stage = options(split, "refused");
    const std::string text = error_text<InputError>([&] { train_vgae(stage); });
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "refused"));
    return text;
  }

  TempFolder folder_;
  RandomGraphs source_{160, 1, 7};  // There is no vocabulary: all IDs are unknown.
  Vector<GraphShape, Tag::columns> shapes_;
  TrainingSplit split_, benign_;
  Recipe recipe_;
};

TEST_F(VgaeStageTest, AttacksAreRefused) {
  EXPECT_THAT(refused(split_), AllOf(HasSubstr("hold an attack"), HasSubstr("leave them out")));
  EXPECT_THAT(refused({split_.training, benign_.validation}), HasSubstr("hold an attack"));
  EXPECT_THAT(refused({benign_.training, split_.validation}), HasSubstr("hold an attack"));
}

TEST_F(VgaeStageTest, ASplitIsLeftWithItsBenignGraphs) {
  EXPECT_EQ(benign_.training, benign_of(split_.training, shapes_));
  EXPECT_EQ(benign_.validation, benign_of(split_.validation, shapes_));
  EXPECT_EQ(count_attacks(benign_.training, shapes_), 0);
  EXPECT_LT(benign_.training.size(), split_.training.size());
}

TEST_F(VgaeStageTest, GraphsAreNeededToTrainAndToValidate) {
  EXPECT_THAT(refused({{}, benign_.validation}), HasSubstr("add attack-free recordings"));
  EXPECT_THAT(refused({benign_.training, {}}), HasSubstr("none of the 0 validation windows is benign"));
}

TEST_F(VgaeStageTest, TrainsADetectorWhoseThresholdsAreThoseOfValidation) {
  const StageResult result = train_vgae(options(benign_, "run"));
  EXPECT_EQ(result.fit.epochs.size(), 2U);
  EXPECT_LT(result.fit.epochs[1].training_loss, result.fit.epochs[0].training_loss);
  const Detector loaded = load_detector(folder_ / "run" / "model.safetensors");
  ASSERT_TRUE(loaded.vgae);
  EXPECT_EQ(loaded.parameters().hash(), result.weights_hash);
  EXPECT_EQ(loaded.facts.benign_ids.keys, MessageKeys{7});
  EXPECT_EQ(loaded.vgae->options().output,
            VgaeOutput::sigmoid);  // This is the activation for compat features.

  Scorer scorer(loaded, {.source = &source_, .shapes = shapes_, .limits = {4, 4096, 16384}},
                {benign_.validation});
  const auto scores = scorer.scores(benign_.validation);
  ASSERT_EQ(loaded.facts.thresholds.size(), 2U);
  for (const Threshold& threshold : loaded.facts.thresholds) {
    const auto above = std::ranges::count_if(scores, [&](float score) { return score > threshold.level; });
    EXPECT_EQ(above, static_cast<int64_t>(threshold.target_rate * static_cast<double>(scores.size())));
  }
}

TEST_F(VgaeStageTest, ASeedAndALearningRateOfItsOwn) {
  const std::string first = train_vgae(options(benign_, "first")).weights_hash;
  EXPECT_EQ(train_vgae(options(benign_, "again")).weights_hash, first);
  can_sections(recipe_).vgae.learning_rate = 0.01;
  const std::string faster = train_vgae(options(benign_, "faster")).weights_hash;
  EXPECT_NE(faster, first);
  recipe_.training.learning_rate = 0.5;  // This setting is not read.
  EXPECT_EQ(train_vgae(options(benign_, "faster again")).weights_hash, faster);
  recipe_.seed = 43;
  EXPECT_NE(train_vgae(options(benign_, "other seed")).weights_hash, faster);
}

TEST_F(VgaeStageTest, APlanWritesNothing) {
  const MemoryPlan plan = plan_vgae(options(benign_, "plan"));
  EXPECT_TRUE(plan.feasible);
  EXPECT_GT(plan.peak, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "plan"));
}

}  // namespace
}  // namespace plimsoll
