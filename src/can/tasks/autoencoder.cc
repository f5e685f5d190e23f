#include <fmt/format.h>

#include "base/units.h"
#include "can/tasks/detection_labels.h"
#include "can/tasks/detector_training.h"
#include "can/tasks/smaller_models.h"
#include "can/tasks/tasks.h"
#include "can/tasks/vgae_stage.h"

namespace plimsoll {
namespace {

// Trains an autoencoder, which learns benign windows and reconstructs attacks badly.
class AutoencoderTraining final : public DetectorTraining {
 public:
  explicit AutoencoderTraining(RunRequest request)
      : DetectorTraining(std::move(request)), benign_(benign_split(split_, shapes_)) {}

  std::string model() const override { return "VGAE"; }
  std::string trained_on() const override {
    return fmt::format("{} benign windows of {} recordings, validated on {}; {} copies left out",
                       format_count(static_cast<int64_t>(benign_.training.size())), split_.used.size(),
                       format_count(static_cast<int64_t>(benign_.validation.size())), split_.copies.size());
  }

  std::vector<Stage> stages(int64_t, const std::filesystem::path&) const override {
    const auto options = [this, facts = facts()](const RunOptions& run) {
      return VgaeStageOptions{.source = &data_->source(),
                              .shapes = shapes_,
                              .recipe = &request_.recipe,
                              .split = &benign_,
                              .facts = facts,
                              .run = run};
    };
    return {{"vgae", "vgae", [options](const RunOptions& run) { return plan_vgae(options(run)); },
             [this, options](const RunOptions& run) {
               return report_of("vgae", train_vgae(options(run)), benign_);
             }}};
  }

 private:
  bool is_fused(const std::string&) const override { return false; }

  const TrainingSplit benign_;
};

class AutoencoderTask final : public DetectorTask {
 public:
  std::unique_ptr<Training> open(RunRequest request) const override {
    return std::make_unique<AutoencoderTraining>(std::move(request));
  }
  std::vector<RecipeChange> smaller_models(const Recipe& recipe) const override {
    std::vector<RecipeChange> changes;
    add_smaller_vgae(changes, recipe);
    return changes;
  }
};

}  // namespace

const Task& autoencoder_task() {
  static const AutoencoderTask task;
  return task;
}

}  // namespace plimsoll
