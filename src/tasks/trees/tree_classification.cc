#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "engine/blocks/shared_file.h"
#include "tasks/gnn/gnn_predictions.h"
#include "tasks/trees/tasks.h"
#include "tasks/trees/tree_classes.h"

namespace plimsoll {
namespace {

// Returns the trees of a split that have a class.
TrainingSplit labelled(const TrainingSplit& split, std::span<const GraphShape> shapes) {
  TrainingSplit kept;
  const auto keep = [&](const GraphList& from, GraphList& to) {
    std::ranges::copy_if(from, std::back_inserter(to),
                         [&](int64_t g) { return shapes[static_cast<size_t>(g)].label >= 0; });
  };
  keep(split.training, kept.training);
  keep(split.validation, kept.validation);
  keep(split.test, kept.test);
  if (kept.training.empty() || kept.validation.empty())
    throw InputError(
        "no training tree, or no validation tree, has a class; run `plimsoll ingest swc` with --labels, or "
        "set task: tree_pretraining, which needs no classes");
  return kept;
}

// GT-SSL: a model of paths first learns, without labels, how trees grow. A second stage starts from these
// weights and learns the classes. For comparison, a third stage learns the classes from random weights.
class TreeClassificationTraining final : public Training {
 public:
  explicit TreeClassificationTraining(RunRequest request)
      : request_(std::move(request)),
        data_((require_kind(request_.data, request_.recipe, kTrees.kinds), request_.data), request_.recipe,
              {.scratch = request_.scratch, .forests = true}),
        shapes_(read_shapes(data_.source(), request_.memory.threads)),
        split_(split_for(request_.recipe, data_, shapes_)),
        labelled_(labelled(split_, shapes_)),
        identity_(data_.identity_hash()) {
    if (!request_.recipe.init_from.empty())
      throw UsageError("init_from: task tree_classification pretrains its own model; remove the key");
  }

  const TrainingData& data() const override { return data_; }
  std::string model() const override { return request_.recipe.model_name() + " on trees"; }
  std::string trained_on() const override {
    const auto count = [](const GraphList& graphs) {
      return format_count(static_cast<int64_t>(graphs.size()));
    };
    return fmt::format("{} trees, of which {} have a class, validated on {}, {} left for a test{}{}",
                       count(split_.training), count(labelled_.training), count(split_.validation),
                       count(split_.test), data_.forests().graphs > 0 ? "; " : "", data_.forests_in_words());
  }

  std::vector<Stage> stages(int64_t seed, const std::filesystem::path& folder) const override {
    Recipe pretraining = request_.recipe;
    pretraining.seed = seed;
    Recipe classes = pretraining;
    classes.training.max_epochs = classes.fine_tuning.max_epochs;
    classes.training.learning_rate = classes.fine_tuning.learning_rate;
    const std::string weights = (folder / RunFolder::kPretrain / "model.safetensors").string();
    return {stage(RunFolder::kPretrain, pretraining, GnnHead::trees, split_, {}),
            stage(RunFolder::kFineTune, classes, GnnHead::graphs, labelled_, weights),
            stage(RunFolder::kScratch, classes, GnnHead::graphs, labelled_, {})};
  }

  // Returns the fine-tuned model with the best validation loss.
  const TrainedStage* finish(const std::vector<TrainedStage>& stages, const RunFolder&,
                             const RunOptions&) override {
    const TrainedStage* best = nullptr;
    for (const TrainedStage& stage : stages)
      if (stage.report.stage == RunFolder::kFineTune &&
          (best == nullptr || stage.report.fit.best_loss < best->report.fit.best_loss))
        best = &stage;
    return best;
  }

 private:
  // A plan does not read the weights of an earlier stage.
  Stage stage(const std::string& name, const Recipe& recipe, GnnHead head, const TrainingSplit& split,
              const std::string& weights) const {
    const auto options = [this, head, &split](const Recipe& stage_recipe, const RunOptions& run) {
      return GnnStageOptions{.source = &data_.source(),
                             .shapes = shapes_,
                             .recipe = &stage_recipe,
                             .head = head,
                             .split = &split,
                             .data = identity_,
                             .measured = &split_.training,  // All stages use the same cutoff.
                             .seen = &split_,
                             .run = run};
    };
    return {name, name, [options, recipe](const RunOptions& run) { return plan_gnn(options(recipe, run)); },
            [options, recipe, weights, name, &split](const RunOptions& run) {
              Recipe from = recipe;
              from.init_from = weights;
              if (!weights.empty() && !is_there_for_ranks(run.exchange, weights))
                throw InputError(fmt::format("{}: the file does not exist; the stage {} writes it", weights,
                                             RunFolder::kPretrain));
              const GnnStageResult result = train_gnn(options(from, run));
              return StageReport{
                  .stage = name,
                  .weights = result.fit.weights,
                  .parameters = result.trained.model->parameters().count(),
                  .graphs = static_cast<int64_t>(split.training.size() + split.validation.size()),
                  .fit = result.fit};
            }};
  }

  const RunRequest request_;
  const TrainingData data_;
  const Vector<GraphShape, Tag::columns> shapes_;
  const TrainingSplit split_;
  const TrainingSplit labelled_;
  const std::string identity_;
};

class TreeClassificationTask final : public Task {
 public:
  bool takes_seeds() const override { return true; }
  bool has_one_model() const override { return false; }
  // Longer pretraining would change the fine-tuned models.
  bool can_be_made_longer() const override { return false; }
  std::unique_ptr<Training> open(RunRequest request) const override {
    return std::make_unique<TreeClassificationTraining>(std::move(request));
  }
  EvaluationResult evaluate(const RunEvaluation& asked) const override {
    require_no_task_options(asked);
    return evaluate_tree_classes(asked);
  }
  int64_t predict(const PredictionRequest& request) const override {
    return predict_with_gnn(request, kTreeClasses);
  }
};

}  // namespace

const Task& tree_classification_task() {
  static const TreeClassificationTask task;
  return task;
}

}  // namespace plimsoll
