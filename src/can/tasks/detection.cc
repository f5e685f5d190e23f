#include "can/tasks/detector_training.h"
#include "can/tasks/gat_stage.h"
#include "can/tasks/smaller_models.h"
#include "can/tasks/tasks.h"

namespace plimsoll {
namespace {

// Trains a GAT, which learns attacks from labels.
class DetectionTraining final : public DetectorTraining {
 public:
  using DetectorTraining::DetectorTraining;

  std::string model() const override { return "GAT"; }

  std::vector<Stage> stages(int64_t, const std::filesystem::path&) const override {
    const auto options = [this, facts = facts()](const RunOptions& run) {
      return GatStageOptions{.source = &data_->source(),
                             .shapes = shapes_,
                             .recipe = &request_.recipe,
                             .split = &split_,
                             .facts = facts,
                             .run = run};
    };
    return {{"gat", "gat", [options](const RunOptions& run) { return plan_gat(options(run)); },
             [this, options](const RunOptions& run) {
               return report_of("gat", train_gat(options(run)), split_);
             }}};
  }

 private:
  bool is_fused(const std::string&) const override { return true; }
};

class DetectionTask final : public DetectorTask {
 public:
  std::unique_ptr<Training> open(RunRequest request) const override {
    return std::make_unique<DetectionTraining>(std::move(request));
  }
  std::vector<RecipeChange> smaller_models(const Recipe& recipe) const override {
    std::vector<RecipeChange> changes;
    add_smaller_gat(changes, recipe);
    return changes;
  }
};

}  // namespace

const Task& detection_task() {
  static const DetectionTask task;
  return task;
}

}  // namespace plimsoll
