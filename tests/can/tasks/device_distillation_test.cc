#include <gtest/gtest.h>

#include "can/recipe/can_sections.h"
#include "can/tasks/distill.h"
#include "engine/on_each_device.h"
#include "support/random_graphs.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

class DeviceDistillationTest : public OnEachDevice {
 protected:
  void SetUp() override {
    OnEachDevice::SetUp();
    shapes_ = read_shapes(source_, 1);
    for (int64_t g = 0; g < source_.graphs(); ++g)
      (g < 40 ? split_.training : split_.validation).push_back(g);
    recipe_.training.max_epochs = 1;
    recipe_.training.batch_size = 16;
    recipe_.training.block.graphs = 4;
    for (VgaeOptions* vgae : {&can_sections(recipe_).vgae, &can_sections(recipe_).teacher.vgae})
      vgae->hidden = {12}, vgae->latent = 4;
    for (GatOptions* gat : {&can_sections(recipe_).gat, &can_sections(recipe_).teacher.gat})
      gat->hidden = 4, gat->heads = 2, gat->layers = 2;
  }

  // Names of the stages, each followed by its weights if the stage trains a model.
  std::vector<std::string> train(TrainingDevice* device, const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder / "columns");
    std::vector<std::string> done;
    for (const Stage& stage : distillation_stages({.source = &source_,
                              .shapes = shapes_,
                              .recipe = recipe_,
                              .split = &split_,
                              .facts = {.vocabulary = {}, .benign_ids = {{7}}},
                              .data = "data1",
                              .folder = folder,
                              .teacher = {}})) {
      std::filesystem::create_directories(folder / stage.folder);
      const StageReport report = stage.run(
          {.folder = folder / stage.folder, .identity = "test", .memory = {.threads = 2}, .device = device});
      done.push_back(stage.name);
      if (!report.weights.empty()) done.push_back(report.weights);
    }
    return done;
  }

  TempFolder folder_;
  RandomGraphs source_{60, 1, 7};  // There is no vocabulary: all IDs are unknown.
  Vector<GraphShape, Tag::columns> shapes_;
  TrainingSplit split_;
  Recipe recipe_;
};
INSTANTIATE_TEST_SUITE_P(, DeviceDistillationTest, testing::Values(On::stand_in, On::cuda), name_of_on);

// A stage finds the columns that an earlier stage wrote, in all modes of teacher outputs.
TEST_P(DeviceDistillationTest, EveryStageFindsWhatOthersLeft) {
  for (const TeacherOutputMode outputs : {TeacherOutputMode::cached, TeacherOutputMode::live}) {
    can_sections(recipe_).distillation.teacher_outputs = outputs;
    const auto found = train(&device(kRoomy), folder_ / std::string(word_of(outputs)));
    if (GetParam() == On::stand_in) {
      EXPECT_EQ(found, train(nullptr, folder_ / ("host " + std::string(word_of(outputs)))));
    }
  }
}

}  // namespace
}  // namespace plimsoll
