#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "tasks/classes/classes_evaluation.h"
#include "tasks/gnn/graph_lists.h"
#include "tasks/metrics/undefined_figures.h"
#include "tasks/trees/tasks.h"
#include "tasks/trees/tree_classes.h"
#include "tasks/trees/tree_evaluation.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

// Trains a model of paths to predict how trees grow, without labels; another task starts from its weights
// with init_from.
class TreePretrainingTask final : public Task {
 public:
  std::unique_ptr<Training> open(RunRequest request) const override {
    return open_gnn_training(std::move(request), kTrees);
  }

  EvaluationResult evaluate(const RunEvaluation& asked) const override {
    require_no_task_options(asked);
    const TrainedGnn gnn(asked.folder, asked.recipe, asked.data, kTrees);
    const auto shapes = read_shapes(gnn.data.source(), asked.memory.threads);
    const EvaluatedGraphs evaluated =
        lists_to_evaluate(gnn.data, shapes, asked.recipe, gnn.model, asked.split);
    const auto results = evaluate_trees({.source = gnn.data.source(),
                                         .shapes = shapes,
                                         .model = gnn.model,
                                         .limits = limits_of(asked.recipe.training),
                                         .memory = asked.memory,
                                         .exchange = asked.exchange,
                                         .device = asked.device,
                                         .rehearsal = asked.rehearsal,
                                         .lists = evaluated.lists},
                                        asked.recipe);
    const std::vector<std::string> columns = {"<split", "graphs",      "nodes", "loss",
                                              "growth", "parent edge", "order", "angle"};
    Table table(columns);
    std::vector<std::vector<std::string>> rows;
    EvaluationResult findings{
        trees_json(results, asked.recipe.model_name(), asked.recipe.seed), {}, {}, 0, {}};
    add_forests(findings, gnn.data);
    add_left_out(findings, evaluated);
    for (const TreeResult& result : results) {
      findings.graphs += result.graphs;
      rows.push_back({result.name, format_count(result.graphs), format_count(result.nodes)});
      for (const double figure : {result.loss, result.growth, result.parent_edge, result.order})
        rows.back().push_back(fmt::format("{:.4f}", figure));
      rows.back().push_back(figure_text(result.angle));
      table.add(rows.back());
    }
    findings.table = table.text();
    if (asked.split.empty())
      findings.report = table_report("Growth of trees, evaluated by plimsoll evaluate", columns, rows,
                                     asked.folder, findings.notes);
    return findings;
  }

  int64_t predict(const PredictionRequest& request) const override {
    throw UsageError(fmt::format(
        "{}: task tree_pretraining makes no predictions for new trees; train another task from its weights "
        "with init_from (docs/gtssl.md)",
        request.folder.root.string()));
  }
};

}  // namespace

const Task& tree_pretraining_task() {
  static const TreePretrainingTask task;
  return task;
}

}  // namespace plimsoll
