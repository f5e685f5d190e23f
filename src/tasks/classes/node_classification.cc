#include "tasks/classes/classes_evaluation.h"
#include "tasks/classes/tasks.h"
#include "tasks/gnn/gnn_predictions.h"

namespace plimsoll {
namespace {

const GnnTask kNodes{.head = GnnHead::nodes, .kinds = {"graph_set", "graph", "frames"}};

// Trains a Gnn to predict the class of each labelled node, of small graphs or of one giant graph.
class NodeClassification final : public Task {
 public:
  std::unique_ptr<Training> open(RunRequest request) const override {
    return open_gnn_training(std::move(request), kNodes);
  }
  Findings evaluate(const RunEvaluation& asked) const override {
    require_no_detector_options(asked);
    return evaluate_classes(asked, TrainedGnn(asked.folder, asked.recipe, asked.data, kNodes));
  }
  int64_t predict(const PredictionRequest& request) const override {
    return predict_with_gnn(request, kNodes);
  }
};

}  // namespace

const Task& node_classification_task() {
  static const NodeClassification task;
  return task;
}

}  // namespace plimsoll
