#include "nn/link_prediction.h"
#include "tasks/classes/classes_evaluation.h"
#include "tasks/gnn/gnn_predictions.h"
#include "tasks/gnn/untrained_evaluation.h"
#include "tasks/links/link_evaluation.h"
#include "tasks/links/tasks.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

std::unique_ptr<Objective> scores_of_pairs(const GraphModel& model) {
  return std::make_unique<LinkPrediction>(model);
}

const GnnTask kPairs{.head = GnnHead::pairs, .kinds = {"graph"}, .objective = scores_of_pairs};

// Trains a Gnn to predict which pairs of nodes of one giant graph have an edge.
class LinkPredictionTask final : public Task {
 public:
  std::unique_ptr<Training> open(RunRequest request) const override {
    return open_gnn_training(std::move(request), kPairs);
  }

  EvaluationResult evaluate(const RunEvaluation& asked) const override {
    require_no_task_options(asked);
    const TrainedGnn gnn(asked.folder, asked.recipe, asked.data, kPairs);
    const GraphView& graph = gnn.data.neighbours()->graph();
    const auto splits =
        splits_to_evaluate(asked.split, [&](size_t split) { return !graph.split_edges(split).empty(); });
    const auto results = evaluate_from_all_neighbours(asked, gnn, [&](const FullNeighbourOptions& from) {
      return evaluate_links(graph, gnn.data.neighbours()->topology(), gnn.model, splits,
                            static_cast<uint64_t>(asked.recipe.seed), from);
    });
    Table table(link_columns());
    std::vector<std::vector<std::string>> rows;
    int64_t edges = 0;
    for (const LinkResult& result : results) {
      edges += result.edges;
      rows.push_back(link_row(result));
      table.add(rows.back());
    }
    EvaluationResult findings{
        links_json(results, asked.recipe.model_name(), asked.recipe.seed), table.text(), {}, edges, {}};
    findings.unit = "edge";
    if (asked.split.empty())
      findings.report =
          table_report("Edges, evaluated by plimsoll evaluate", link_columns(), rows, asked.folder);
    return findings;
  }
  bool rehearse_evaluation(const RunRequest& request, Rehearsal& rehearsal) const override {
    const auto seed = static_cast<uint64_t>(request.recipe.seed);
    return rehearse_untrained(
        request, kPairs, rehearsal,
        [seed](const GnnModel& model, const NeighbourSource& data, const FullNeighbourOptions& options) {
          const GraphView& graph = data.graph();
          const auto splits =
              splits_to_evaluate({}, [&](size_t split) { return !graph.split_edges(split).empty(); });
          evaluate_links(graph, data.topology(), model, splits, seed, options);
        });
  }
  int64_t predict(const PredictionRequest& request) const override {
    return predict_with_gnn(request, kPairs);
  }
};

}  // namespace

const Task& link_prediction_task() {
  static const LinkPredictionTask task;
  return task;
}

}  // namespace plimsoll
