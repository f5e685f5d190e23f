#include "tasks/classes/classes_evaluation.h"
#include "tasks/classes/tasks.h"
#include "tasks/gnn/gnn_predictions.h"

namespace plimsoll {
namespace {

const GnnTask kGraphs{.head = GnnHead::graphs, .kinds = {"graph_set"}, .opened_kinds = true};

// Trains a Gnn to predict the class of each graph.
class GraphClassification final : public Task {
 public:
  std::unique_ptr<Training> open(RunRequest request) const override {
    return open_gnn_training(std::move(request), kGraphs);
  }
  EvaluationResult evaluate(const RunEvaluation& asked) const override {
    require_no_task_options(asked);
    return evaluate_classes(asked, TrainedGnn(asked.folder, asked.recipe, asked.data, kGraphs));
  }
  int64_t predict(const PredictionRequest& request) const override {
    return predict_with_gnn(request, kGraphs);
  }
};

}  // namespace

const Task& graph_classification_task() {
  static const GraphClassification task;
  return task;
}

}  // namespace plimsoll
