#include "base/error.h"
#include "can/tasks/detector_training.h"
#include "can/tasks/distill.h"
#include "can/tasks/smaller_models.h"
#include "can/tasks/tasks.h"

namespace plimsoll {
namespace {

// KD-GAT's pipeline, for each seed.
class DistillationTraining final : public DetectorTraining {
 public:
  explicit DistillationTraining(RunRequest request)
      : DetectorTraining(std::move(request)), facts_(facts()), identity_(data_->identity_hash()) {
    if (!request_.recipe.init_from.empty())
      throw UsageError("init_from is for tasks that train one model; for a distillation use --teacher FILE");
  }

  std::string model() const override { return "distillation"; }

  std::vector<Stage> stages(int64_t seed, const std::filesystem::path& folder) const override {
    Recipe recipe = request_.recipe;
    recipe.seed = seed;
    return distillation_stages({.source = &data_->source(),
                                .shapes = shapes_,
                                .recipe = std::move(recipe),
                                .split = &split_,  // The same for all seeds.
                                .facts = facts_,
                                .data = identity_,
                                .folder = folder,
                                .teacher = request_.teacher});
  }

 private:
  bool is_fused(const std::string& stage) const override { return stage == kStudentGat; }

  // Chooses the distilled GAT with the best validation result.
  const TrainedStage* chosen(const std::vector<TrainedStage>& stages) const override {
    const TrainedStage* best = nullptr;
    for (const TrainedStage& stage : stages)
      if (stage.report.stage == kStudentGat &&
          (best == nullptr || stage.report.fit.best_loss < best->report.fit.best_loss))
        best = &stage;
    return best;
  }

  const DetectorFacts facts_;
  const std::string identity_;
};

class DistillationTask final : public DetectorTask {
 public:
  bool takes_seeds() const override { return true; }
  bool takes_teacher() const override { return true; }
  // Training the teacher for longer would change the teacher that students have already learned from.
  bool can_be_made_longer() const override { return false; }
  std::unique_ptr<Training> open(RunRequest request) const override {
    return std::make_unique<DistillationTraining>(std::move(request));
  }
  std::vector<RecipeChange> smaller_models(const Recipe& recipe) const override {
    std::vector<RecipeChange> changes;
    add_smaller_gat(changes, recipe);
    add_smaller_vgae(changes, recipe);
    add_smaller_teachers(changes, recipe);
    return changes;
  }
};

}  // namespace

const Task& distillation_task() {
  static const DistillationTask task;
  return task;
}

}  // namespace plimsoll
