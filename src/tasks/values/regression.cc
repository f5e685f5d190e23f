#include "tasks/classes/classes_evaluation.h"
#include "tasks/gnn/gnn_predictions.h"
#include "tasks/gnn/graph_lists.h"
#include "tasks/gnn/untrained_evaluation.h"
#include "tasks/values/node_values.h"
#include "tasks/values/regression_evaluation.h"
#include "tasks/values/tasks.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

std::vector<RegressionResult> evaluate_graph_values(const RunEvaluation& asked, const TrainedGnn& gnn,
                                                    EvaluatedGraphs& evaluated) {
  const auto shapes = read_shapes(gnn.data.source(), asked.memory.threads);
  evaluated = lists_to_evaluate(gnn.data, shapes, asked.recipe, gnn.model, asked.split);
  return evaluate_values({.source = gnn.data.source(),
                          .shapes = shapes,
                          .model = gnn.model,
                          .limits = limits_of(asked.recipe.training),
                          .memory = asked.memory,
                          .exchange = asked.exchange,
                          .device = asked.device,
                          .rehearsal = asked.rehearsal,
                          .lists = evaluated.lists});
}

std::vector<RegressionResult> evaluate_giant_values(const RunEvaluation& asked, const TrainedGnn& gnn) {
  const GraphView& graph = gnn.data.neighbours()->graph();
  const auto splits = node_splits_to_evaluate(graph, asked.split);
  return evaluate_from_all_neighbours(asked, gnn, [&](const FullNeighbourOptions& from) {
    return evaluate_node_values(graph, gnn.data.neighbours()->topology(), gnn.model, splits, from);
  });
}

// Trains a Gnn to predict values of each graph, or of each node that has targets.
class RegressionTask final : public Task {
 public:
  explicit RegressionTask(GnnTask task) : task_(std::move(task)) {}

  std::unique_ptr<Training> open(RunRequest request) const override {
    return open_gnn_training(std::move(request), task_);
  }

  EvaluationResult evaluate(const RunEvaluation& asked) const override {
    require_no_task_options(asked);
    const TrainedGnn gnn(asked.folder, asked.recipe, asked.data, task_);
    EvaluatedGraphs evaluated;
    const bool is_giant = gnn.data.neighbours() != nullptr;
    const auto results =
        is_giant ? evaluate_giant_values(asked, gnn) : evaluate_graph_values(asked, gnn, evaluated);
    Table table(regression_columns());
    std::vector<std::vector<std::string>> rows;
    EvaluationResult findings{
        regression_json(results, asked.recipe.model_name(), asked.recipe.seed), {}, {}, 0, {}};
    if (is_giant) findings.unit = "node";
    add_left_out(findings, evaluated);
    for (const RegressionResult& result : results) {
      findings.graphs += is_giant ? result.figures.items : result.graphs;
      rows.push_back(regression_row(result));
      table.add(rows.back());
    }
    findings.table = table.text();
    if (asked.split.empty())
      findings.report = table_report("Values, evaluated by plimsoll evaluate", regression_columns(), rows,
                                     asked.folder, findings.notes);
    return findings;
  }
  bool rehearse_evaluation(const RunRequest& request, Rehearsal& rehearsal) const override {
    return rehearse_untrained(
        request, task_, rehearsal,
        [](const GnnModel& model, const NeighbourSource& data, const FullNeighbourOptions& options) {
          evaluate_node_values(data.graph(), data.topology(), model,
                               node_splits_to_evaluate(data.graph(), {}), options);
        });
  }
  // The data to predict need not have targets.
  int64_t predict(const PredictionRequest& request) const override {
    return predict_with_gnn(request, {.head = task_.head, .kinds = task_.kinds});
  }

 private:
  const GnnTask task_;
};

}  // namespace

const Task& graph_regression_task() {
  static const RegressionTask task(
      {.head = GnnHead::graphs, .kinds = {"graph_set"}, .targets = Targets::graphs});
  return task;
}

const Task& node_regression_task() {
  static const RegressionTask task(
      {.head = GnnHead::nodes, .kinds = {"graph_set", "graph"}, .targets = Targets::nodes});
  return task;
}

}  // namespace plimsoll
