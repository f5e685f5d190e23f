#include <optional>

#include "nn/predictions.h"
#include "nn/recommendation.h"
#include "run/block_predictions.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_evaluation.h"
#include "tasks/relational/relational_model.h"
#include "tasks/relational/relational_training.h"
#include "tasks/relational/submission.h"
#include "tasks/relational/tasks.h"

namespace plimsoll {
namespace {

PredictionWriter::Kind kind_of(const GraphModel& model, const TaskSeeds& seeds) {
  if (seeds.kind() == SeedTask::recommendation) return PredictionWriter::Kind::recommendations;
  if (seeds.kind() == SeedTask::multilabel_classification) return PredictionWriter::Kind::labels;
  return model.gives_values() ? PredictionWriter::Kind::values : PredictionWriter::Kind::classes;
}

std::unique_ptr<Objective> make_predictions(const GraphModel& model, const TaskSeeds& seeds,
                                            bool embeddings) {
  if (seeds.kind() == SeedTask::recommendation)
    return std::make_unique<BestNodes>(model, seeds.list_length(), embeddings);
  return std::make_unique<Predictions>(model, embeddings);
}

class Relational final : public Task {
 public:
  bool takes_seeds() const override { return true; }
  bool takes_baseline() const override { return true; }
  // The model is not the one that the section `gnn` describes.
  bool has_one_model() const override { return false; }
  std::vector<RecipeChange> smaller_models(const Recipe& recipe) const override {
    std::vector<RecipeChange> changes;
    add_half(changes, "relational.channels", recipe.relational.channels,
             [](Recipe& r) -> int64_t& { return r.relational.channels; });
    return changes;
  }
  std::unique_ptr<Training> open(RunRequest request) const override {
    return open_relational_training(std::move(request));
  }
  EvaluationResult evaluate(const RunEvaluation& asked) const override {
    if (asked.of_task != nullptr) asked.of_task->refuse(asked.recipe.task);
    return evaluate_relational(asked);
  }
  // Writes one row per seed of the task, in the order of its splits. With a CSV, also writes the table for
  // RelBench.
  int64_t predict(const PredictionRequest& request) const override {
    const RelationalData data(request.data, request.recipe);
    const auto model = load_relational(request.folder.model(request.recipe), request.recipe, data.seeds(),
                                       data.identity_hash());
    const std::optional<Submission> submission =
        request.csv && request.rehearsal == nullptr ? Submission::of(data) : std::nullopt;
    const int64_t embedding = request.embeddings ? model->embedding() : 0;
    const auto objective = make_predictions(*model, data.seeds().seeds(), request.embeddings);
    const TargetVocabulary& names = data.seeds().seeds().class_names();
    PredictionWriter writer(request, {.kind = kind_of(*model, data.seeds().seeds()),
                                      .outputs = objective->outputs() - embedding,
                                      .embedding = embedding,
                                      .class_names = {names.begin(), names.end()}});
    predict_blocks(data.source(), *objective, request, writer);
    if (request.rehearsal != nullptr) return 0;
    const int64_t rows = writer.publish(data.unit(), data.identity());
    if (submission && rank_of(request.exchange) == 0) submission->write(request.out);
    return rows;
  }
};

}  // namespace

const Task& relational_task() {
  static const Relational task;
  return task;
}

}  // namespace plimsoll
