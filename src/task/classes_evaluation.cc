#include "task/classes_evaluation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "store/split_name.h"
#include "task/run_record.h"
#include "train/classification_stage.h"

namespace plimsoll {
namespace {

// A split's graphs, without those of recordings whose content trained.
GraphList graphs_of(const GraphRange& split, const GraphSetTables& tables,
                    const std::vector<std::string>& trained) {
  std::vector<GraphRange> copies;
  std::ranges::copy_if(tables.recordings, std::back_inserter(copies), [&](const GraphRange& recording) {
    return recording.split == split.name &&
           std::ranges::find(trained, content_of(recording)) != trained.end();
  });
  GraphList graphs;
  for (int64_t g = split.first_graph; g < split.first_graph + split.graphs; ++g)
    if (std::ranges::none_of(copies, [g](const GraphRange& copy) {
          return g >= copy.first_graph && g < copy.first_graph + copy.graphs;
        }))
      graphs.push_back(g);
  return graphs;
}

// Validation and test graphs if this is the data that trained, and the splits that do not train.
std::vector<NamedGraphList> lists_to_judge(const TrainingData& data, std::span<const GraphShape> shapes,
                                           const Recipe& recipe, const GnnModel& model,
                                           const std::string& only) {
  std::vector<NamedGraphList> lists;
  std::vector<std::string> trained;
  const bool is_the_data = model.trained_on == data.identity_hash();
  if (is_the_data) {
    TrainingSplit split = split_for(recipe, data, shapes);
    trained = split.contents;
    lists.push_back({"validation", std::move(split.validation)});
    if (!split.test.empty()) lists.push_back({"test", std::move(split.test)});
    for (auto& [attack, graphs] : split.left_out) lists.push_back({left_out_name(attack), std::move(graphs)});
  }
  const auto& splits = data.source().tables().splits;
  // Where no split is named so, all graphs were shared out.
  const bool some_train =
      std::ranges::any_of(splits, [](const auto& s) { return is_training_split(s.name); });
  for (const GraphRange& split : splits) {
    if (is_the_data && (!some_train || is_training_split(split.name))) continue;
    lists.push_back({split.name, graphs_of(split, data.source().tables(), trained)});
  }
  std::string known;
  for (const NamedGraphList& list : lists) known += " " + list.name;
  if (!only.empty()) std::erase_if(lists, [&](const NamedGraphList& list) { return list.name != only; });
  if (lists.empty() && !only.empty())
    throw UsageError(fmt::format("no split '{}' to judge; there are:{}", only, known));
  return lists;
}

std::vector<ClassificationVerdict> judge_graphs(const RunEvaluation& asked, const TrainedGnn& gnn) {
  const auto shapes = read_shapes(gnn.data.source(), asked.threads);
  return judge_classifier(gnn.data.source(), shapes, gnn.model, limits_of(asked.recipe), asked.threads,
                          asked.outside_ledger,
                          lists_to_judge(gnn.data, shapes, asked.recipe, gnn.model, asked.split));
}

std::vector<ClassificationVerdict> judge_giant_graph(const RunEvaluation& asked, const TrainedGnn& gnn) {
  const GraphView& graph = gnn.data.neighbours()->graph();
  const auto splits = splits_to_judge(asked.split, [&](size_t split) { return !graph.split(split).empty(); });
  return judge_from_all_neighbours(asked, [&](const FullNeighbourOptions& from) {
    return judge_nodes_of(graph, gnn.data.neighbours()->topology(), gnn.model, splits, from);
  });
}

std::vector<std::string> row_of(const ClassificationVerdict& verdict) {
  const auto share = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.4f}", *value) : std::string("-");
  };
  return {verdict.name,
          format_count(verdict.graphs),
          format_count(verdict.figures.items),
          fmt::format("{:.4f}", verdict.loss),
          share(verdict.figures.accuracy),
          share(verdict.figures.f1),
          share(verdict.figures.auc)};
}

}  // namespace

std::vector<std::string> splits_to_judge(const std::string& only, const std::function<bool(size_t)>& has) {
  std::vector<std::string> splits;
  for (size_t split = 1; split < kGraphSplits.size(); ++split)
    if (has(split) && (only.empty() || only == kGraphSplits[split])) splits.emplace_back(kGraphSplits[split]);
  if (splits.empty())
    throw UsageError(
        fmt::format("no split '{}' to judge; there are valid and test, as the graph has them", only));
  return splits;
}

Markup table_report(const std::string& title, std::vector<std::string> columns,
                    const std::vector<std::vector<std::string>>& rows, const RunFolder& folder) {
  const RunRecord run = read_run_record(folder);
  Report::Table table{std::move(columns), {}};
  for (const std::vector<std::string>& row : rows) table.rows.push_back({row, Report::Table::Kind::plain});
  Report report(run.name, title);
  report.section("Results");
  report.table(table);
  add_run(report, run);
  return report.html();
}

Findings evaluate_classes(const RunEvaluation& asked, const TrainedGnn& gnn) {
  const auto verdicts =
      gnn.data.neighbours() != nullptr ? judge_giant_graph(asked, gnn) : judge_graphs(asked, gnn);
  const Recipe& recipe = asked.recipe;
  Findings findings{
      classification_json(verdicts, recipe.gnn.conv, recipe.seed), classification_table(verdicts), {}, 0, {}};
  std::vector<std::vector<std::string>> rows;
  for (const ClassificationVerdict& verdict : verdicts) {
    findings.graphs += verdict.graphs;
    rows.push_back(row_of(verdict));
  }
  if (asked.split.empty())
    findings.report =
        table_report("Classes, judged by plimsoll evaluate",
                     {"<split", "graphs", "items", "loss", "accuracy", "F1", "AUC"}, rows, asked.folder);
  return findings;
}

}  // namespace plimsoll
