#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "cli/data_check.h"
#include "cli/enforced.h"
#include "cli/interrupt.h"
#include "cli/judge_detector.h"
#include "cli/run_folder.h"
#include "cli/run_lock.h"
#include "cli/run_record.h"
#include "cli/train_verb.h"
#include "cli/training_data.h"
#include "io/file.h"
#include "io/new_folder.h"
#include "store/split_name.h"
#include "telemetry/progress.h"
#include "telemetry/table.h"
#include "train/classification_stage.h"
#include "train/link_evaluation.h"
#include "train/planner.h"
#include "train/warm_up.h"

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

void require_same_features(const GnnModel& model, const BlockSource& source) {
  const GnnOptions& options = model.model->options();
  if (options.in_features != source.node_features() || options.edge_features != source.edge_features())
    throw InputError(fmt::format(
        "the data has {} node and {} edge features, the model was trained on {} and {}",
        source.node_features(), source.edge_features(), options.in_features, options.edge_features));
  if (model.vocabulary != source.tables().vocabulary)
    throw InputError("the data set's vocabulary is not the model's: its IDs have other indices");
}

// A table of verdicts, losses, memory and what was run.
Markup table_report(const std::string& title, const Report::Table& table, const RunRecord& run) {
  Report report(run.name, title);
  report.section("Results");
  report.table(table);
  add_run(report, run);
  return report.html();
}

Markup classes_report(const std::vector<ClassificationVerdict>& verdicts, const RunRecord& run) {
  const auto share = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.4f}", *value) : std::string("-");
  };
  Report::Table table{{"<split", "graphs", "items", "loss", "accuracy", "F1", "AUC"}, {}};
  for (const ClassificationVerdict& verdict : verdicts)
    table.rows.push_back({{verdict.name, format_count(verdict.graphs), format_count(verdict.figures.items),
                           fmt::format("{:.4f}", verdict.loss), share(verdict.figures.accuracy),
                           share(verdict.figures.f1), share(verdict.figures.auc)},
                          Report::Table::Kind::plain});
  return table_report("Classes, judged by plimsoll evaluate", table, run);
}

std::vector<ClassificationVerdict> judge_graphs(const EvaluateOptions& options, const TrainingData& data,
                                                const Recipe& recipe, const GnnModel& model, int threads,
                                                int64_t outside_ledger) {
  const auto shapes = read_shapes(data.source(), threads);
  return judge_classifier(data.source(), shapes, model, limits_of(recipe), threads, outside_ledger,
                          lists_to_judge(data, shapes, recipe, model, options.split));
}

// The splits of one giant graph that do not train; `has` says whether there is such a one.
template <typename Has>
std::vector<std::string> splits_to_judge(const std::string& only, const Has& has) {
  std::vector<std::string> splits;
  for (size_t split = 1; split < kGraphSplits.size(); ++split)
    if (has(split) && (only.empty() || only == kGraphSplits[split])) splits.emplace_back(kGraphSplits[split]);
  if (splits.empty())
    throw UsageError(
        fmt::format("no split '{}' to judge; there are valid and test, as the graph has them", only));
  return splits;
}

// Calls judge(options) for one giant graph, from all neighbours.
template <typename Judge>
auto judge_from_all(const RunFolder& folder, int threads, const Judge& judge) {
  const NewFolder scratch(folder.root / "layers", /*replace=*/false);
  Progress progress("evaluate", "nodes");
  return judge(FullNeighbourOptions{
      .scratch = scratch.path(),
      .threads = threads,
      .progress = until_stopped([&](int64_t done, int64_t total) { progress.update(done, total, ""); })});
}

std::vector<ClassificationVerdict> judge_giant_graph(const EvaluateOptions& options, const TrainingData& data,
                                                     const RunFolder& folder, const GnnModel& model,
                                                     int threads) {
  const GraphView& graph = data.neighbours()->graph();
  const auto splits =
      splits_to_judge(options.split, [&](size_t split) { return !graph.split(split).empty(); });
  return judge_from_all(folder, threads, [&](const FullNeighbourOptions& from) {
    return judge_nodes_of(graph, data.neighbours()->topology(), model, splits, from);
  });
}

Findings judge_edges(const EvaluateOptions& options, const Recipe& recipe, const RunFolder& folder,
                     const TrainingData& data, const GnnModel& model, int threads) {
  const GraphView& graph = data.neighbours()->graph();
  const auto splits =
      splits_to_judge(options.split, [&](size_t split) { return !graph.split_edges(split).empty(); });
  const auto verdicts = judge_from_all(folder, threads, [&](const FullNeighbourOptions& from) {
    return judge_links(graph, data.neighbours()->topology(), model, splits,
                       static_cast<uint64_t>(recipe.seed), from);
  });
  Table table(link_columns());
  Report::Table rows{link_columns(), {}};
  Findings findings{links_json(verdicts, recipe.gnn.conv, recipe.seed), {}, {}, 0, {}};
  for (const LinkVerdict& verdict : verdicts) {
    table.add(link_row(verdict));
    rows.rows.push_back({link_row(verdict), Report::Table::Kind::plain});
    ++findings.graphs;
  }
  findings.table = table.text();
  if (options.split.empty())
    findings.report = table_report("Edges, judged by plimsoll evaluate", rows, read_run_record(folder));
  return findings;
}

Findings judge_gnn(const EvaluateOptions& options, const Recipe& recipe, const RunFolder& folder, int threads,
                   int64_t outside_ledger) {
  if (!options.compare.empty() || !options.scores.empty())
    throw UsageError("--compare and --scores are for detectors; this run's task is " + recipe.task);
  if (options.calibrate > 0 || options.ablation)
    throw UsageError("--calibrate and --ablation are for detectors; this run's task is " + recipe.task);
  const GnnModel model = load_gnn(folder.model(recipe));
  const TrainingData data(options.data, recipe, {.vocabulary = model.vocabulary});
  require_same_features(model, data.source());
  if (recipe.task == "link_prediction") return judge_edges(options, recipe, folder, data, model, threads);
  const auto verdicts = data.neighbours() != nullptr
                            ? judge_giant_graph(options, data, folder, model, threads)
                            : judge_graphs(options, data, recipe, model, threads, outside_ledger);
  Findings findings{
      classification_json(verdicts, recipe.gnn.conv, recipe.seed), classification_table(verdicts), {}, 0, {}};
  for (const ClassificationVerdict& verdict : verdicts) findings.graphs += verdict.graphs;
  if (options.split.empty()) findings.report = classes_report(verdicts, read_run_record(folder));
  return findings;
}

// Names the smallest budget that works in place of what was refused.
[[noreturn]] void refuse(const EvaluateOptions& options, const Recipe& recipe, const RunFolder& folder,
                         int threads, const Budget& budget, int64_t asked) {
  Ledger::process().set_cap(Ledger::kUnlimited);  // nothing is judged any more: the manifest alone is read
  const int64_t least = std::max(budget.bytes() + asked,
                                 budget_to_judge(options, recipe, folder, threads, budget.outside_ledger(),
                                                 budget.bytes() - budget.outside_ledger()));
  throw BudgetTooSmall(fmt::format(
      "to judge the detectors of {} the smallest budget that works is {} bytes ({}); raise --budget",
      folder.root.string(), least, format_bytes(least)));
}

Findings judge(const EvaluateOptions& options, const Recipe& recipe, const RunFolder& folder, int threads,
               const Budget& budget) {
  if (!is_about_attacks(recipe) && budget.is_below_floor())
    throw BudgetTooSmall(
        fmt::format("budget {} is below what this process holds before any data, {}; give more",
                    format_bytes(budget.bytes()), format_bytes(budget.outside_ledger())));
  if (!is_about_attacks(recipe)) return judge_gnn(options, recipe, folder, threads, budget.outside_ledger());
  if (budget.is_below_floor()) refuse(options, recipe, folder, threads, budget, 0);
  try {
    return judge_detector(options, recipe, folder, threads, budget.outside_ledger());
  } catch (const BudgetTooSmall&) {  // of one detector
    refuse(options, recipe, folder, threads, budget, 0);
  } catch (const BudgetExceeded& refusal) {
    refuse(options, recipe, folder, threads, budget, refusal.bytes_asked() - refusal.bytes_free());
  }
}

}  // namespace

void run_evaluate(const EvaluateOptions& options) {
  const Stopwatch watch;
  const int threads = options.resources.thread_count();
  warm_up_torch(threads);
  Budget budget(options.resources, 0, kHeapSlack, /*may_be_below=*/true);
  const std::unique_ptr<Enforcement> enforcement =
      enforce(options.enforce, budget, threads + (options.enforce ? threads_that_read(options.data) : 0));
  const RunFolder folder{options.run};
  if (const auto trainer = holder_of_run(folder.root))
    fmt::print(stderr, "plimsoll: {} trains in {}; this judges what it has finished so far\n", *trainer,
               folder.root.string());
  const Recipe recipe = load_recipe(folder.recipe(), {});
  try {
    check_data(options.data, folder, {.full = options.verify == "full"});
  } catch (const BudgetExceeded& refusal) {
    refuse(options, recipe, folder, threads, budget, refusal.bytes_asked() - refusal.bytes_free());
  }
  const Findings findings = judge(options, recipe, folder, threads, budget);
  const std::string json = findings.json.dump(1) + "\n";
  if (options.split.empty()) {
    write_text(folder.evaluation(), json);
    replace_file(folder.report(),
                 [&](File& file) { file.write(findings.report.data(), findings.report.size()); });
  }
  if (options.json) {
    fmt::print("{}", json);
    return;
  }
  fmt::print("{}\n{}{} graphs in {}; {}\n", findings.table, findings.notes, format_count(findings.graphs),
             format_seconds(watch.seconds()), budget.report());
  if (options.split.empty()) fmt::print("{}\n{}\n", folder.evaluation().string(), folder.report().string());
}

}  // namespace plimsoll
