#include "tasks/classes/classes_evaluation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "run/run_record.h"
#include "tasks/classes/classification_evaluation.h"
#include "tasks/gnn/graph_lists.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

std::vector<ClassificationResult> evaluate_graphs(const RunEvaluation& asked, const TrainedGnn& gnn,
                                                  EvaluatedGraphs& evaluated) {
  const auto shapes = read_shapes(gnn.data.source(), asked.memory.threads);
  evaluated = lists_to_evaluate(gnn.data, shapes, asked.recipe, gnn.model, asked.split);
  return evaluate_classifier({.source = gnn.data.source(),
                              .shapes = shapes,
                              .model = gnn.model,
                              .limits = limits_of(asked.recipe.training),
                              .memory = asked.memory,
                              .exchange = asked.exchange,
                              .device = asked.device,
                              .rehearsal = asked.rehearsal,
                              .lists = evaluated.lists});
}

std::vector<ClassificationResult> evaluate_giant_graph(const RunEvaluation& asked, const TrainedGnn& gnn) {
  const GraphView& graph = gnn.data.neighbours()->graph();
  const auto splits = node_splits_to_evaluate(graph, asked.split);
  return evaluate_from_all_neighbours(asked, gnn, [&](const FullNeighbourOptions& from) {
    return evaluate_nodes(graph, gnn.data.neighbours()->topology(), gnn.model, splits, from);
  });
}

}  // namespace

std::vector<std::string> splits_to_evaluate(const std::string& only, const std::function<bool(size_t)>& has) {
  std::vector<std::string> splits;
  for (size_t split = 1; split < kGraphSplits.size(); ++split)
    if (has(split) && (only.empty() || only == kGraphSplits[split])) splits.emplace_back(kGraphSplits[split]);
  if (splits.empty())
    throw UsageError(
        fmt::format("--split: found '{}', expected valid or test, whichever the graph has", only));
  return splits;
}

std::vector<std::string> node_splits_to_evaluate(const GraphView& graph, const std::string& only) {
  return splits_to_evaluate(only, [&](size_t split) { return !graph.split(split).empty(); });
}

Markup table_report(const std::string& title, std::vector<std::string> columns,
                    const std::vector<std::vector<std::string>>& rows, const RunFolder& folder,
                    const std::string& notes) {
  const RunRecord run = read_run_record(folder);
  Report::Table table{std::move(columns), {}};
  for (const std::vector<std::string>& row : rows) table.rows.push_back({row, Report::Table::Kind::plain});
  Report report(run.name, title);
  report.section("Results");
  report.table(table);
  if (!notes.empty()) report.paragraph(notes);
  add_run(report, run);
  return report.html();
}

EvaluationResult evaluate_classes(const RunEvaluation& asked, const TrainedGnn& gnn) {
  EvaluatedGraphs evaluated;
  const bool is_giant = gnn.data.neighbours() != nullptr;
  const auto results = is_giant ? evaluate_giant_graph(asked, gnn) : evaluate_graphs(asked, gnn, evaluated);
  const Recipe& recipe = asked.recipe;
  Table table(classification_columns());
  std::vector<std::vector<std::string>> rows;
  EvaluationResult findings{classification_json(results, recipe.model_name(), recipe.seed), {}, {}, 0, {}};
  if (is_giant) findings.unit = "node";
  add_left_out(findings, evaluated);
  for (const ClassificationResult& result : results) {
    findings.graphs += is_giant ? result.figures.items : result.graphs;
    rows.push_back(classification_row(result));
    table.add(rows.back());
  }
  findings.table = table.text();
  if (asked.split.empty())
    findings.report = table_report("Classes, evaluated by plimsoll evaluate", classification_columns(), rows,
                                   asked.folder, findings.notes);
  return findings;
}

}  // namespace plimsoll
