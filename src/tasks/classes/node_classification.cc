#include "tasks/classes/classes_evaluation.h"
#include "tasks/classes/classification_evaluation.h"
#include "tasks/classes/tasks.h"
#include "tasks/gnn/gnn_predictions.h"
#include "tasks/gnn/untrained_evaluation.h"

namespace plimsoll {
namespace {

const GnnTask kNodes{.head = GnnHead::nodes, .kinds = {"graph_set", "graph"}, .opened_kinds = true};

// Trains a Gnn to predict the class of each labelled node, of small graphs or of one giant graph.
class NodeClassification final : public Task {
 public:
  std::unique_ptr<Training> open(RunRequest request) const override {
    return open_gnn_training(std::move(request), kNodes);
  }
  EvaluationResult evaluate(const RunEvaluation& asked) const override {
    require_no_task_options(asked);
    return evaluate_classes(asked, TrainedGnn(asked.folder, asked.recipe, asked.data, kNodes));
  }
  bool rehearse_evaluation(const RunRequest& request, Rehearsal& rehearsal) const override {
    return rehearse_untrained(
        request, kNodes, rehearsal,
        [](const GnnModel& model, const NeighbourSource& data, const FullNeighbourOptions& options) {
          const GraphView& graph = data.graph();
          evaluate_nodes(graph, data.topology(), model, node_splits_to_evaluate(graph, {}), options);
        });
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
