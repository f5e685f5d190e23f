#include "tasks/classes/classes_evaluation.h"
#include "tasks/gnn/gnn_predictions.h"
#include "tasks/gnn/untrained_evaluation.h"
#include "tasks/labels/label_evaluation.h"
#include "tasks/labels/tasks.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

const GnnTask kLabels{.head = GnnHead::labels, .kinds = {"graph"}};

// Trains a Gnn to predict several labels of each node of one giant graph.
class MultilabelClassification final : public Task {
 public:
  std::unique_ptr<Training> open(RunRequest request) const override {
    return open_gnn_training(std::move(request), kLabels);
  }

  EvaluationResult evaluate(const RunEvaluation& asked) const override {
    require_no_task_options(asked);
    const TrainedGnn gnn(asked.folder, asked.recipe, asked.data, kLabels);
    const GraphView& graph = gnn.data.neighbours()->graph();
    const auto splits = node_splits_to_evaluate(graph, asked.split);
    const auto results = evaluate_from_all_neighbours(asked, gnn, [&](const FullNeighbourOptions& from) {
      return evaluate_labels(graph, gnn.data.neighbours()->topology(), gnn.model, splits, from);
    });
    Table table(label_columns());
    std::vector<std::vector<std::string>> rows;
    int64_t nodes = 0;
    for (const LabelResult& result : results) {
      nodes += result.figures.items;
      rows.push_back(label_row(result));
      table.add(rows.back());
    }
    EvaluationResult findings{
        labels_json(results, asked.recipe.model_name(), asked.recipe.seed), table.text(), {}, nodes, {}};
    findings.unit = "node";
    if (asked.split.empty())
      findings.report =
          table_report("Labels, evaluated by plimsoll evaluate", label_columns(), rows, asked.folder);
    return findings;
  }
  bool rehearse_evaluation(const RunRequest& request, Rehearsal& rehearsal) const override {
    return rehearse_untrained(
        request, kLabels, rehearsal,
        [](const GnnModel& model, const NeighbourSource& data, const FullNeighbourOptions& options) {
          evaluate_labels(data.graph(), data.topology(), model, node_splits_to_evaluate(data.graph(), {}),
                          options);
        });
  }
  int64_t predict(const PredictionRequest& request) const override {
    return predict_with_gnn(request, kLabels);
  }
};

}  // namespace

const Task& node_multilabel_classification_task() {
  static const MultilabelClassification task;
  return task;
}

}  // namespace plimsoll
