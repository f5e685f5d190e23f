#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "base/units.h"
#include "cli/run_folder.h"
#include "cli/train_verb.h"
#include "cli/training_data.h"
#include "io/file.h"
#include "store/split_name.h"
#include "train/classification_stage.h"
#include "train/evaluate.h"
#include "train/preflight.h"

namespace plimsoll {

namespace {

// How the data was split when the model was trained; nothing if this is other data.
std::optional<TrainingSplit> split_that_trained(const BlockSource& source, const Recipe& recipe,
                                                const DetectorModel& detector) {
  const auto& recordings = source.tables().recordings;
  const bool trains = std::any_of(recordings.begin(), recordings.end(),
                                  [](const GraphRange& r) { return is_training_split(r.split); });
  if (!trains) return std::nullopt;
  TrainingSplit split = split_by_time(source.tables(), recipe.split.validation, recipe.split.embargo);
  if (split.contents != detector.trained_on) return std::nullopt;
  return split;
}

// Validation and test graphs if this is the data that trained, and the splits that do not train.
std::vector<NamedGraphList> lists_to_judge(const TrainingData& data, std::span<const GraphShape> shapes,
                                           const Recipe& recipe, const GnnModel& model,
                                           const std::string& only) {
  std::vector<NamedGraphList> lists;
  if (model.trained_on == data.identity_hash()) {
    TrainingSplit split = split_for(recipe, data.source(), shapes);
    lists.push_back({"validation", std::move(split.validation)});
    if (!split.test.empty()) lists.push_back({"test", std::move(split.test)});
  }
  const bool is_other_data = lists.empty();
  for (const GraphRange& split : data.source().tables().splits) {
    if (!is_other_data && (is_training_split(split.name) || recipe.split.by == "graph")) continue;
    lists.push_back({split.name, GraphList(static_cast<size_t>(split.graphs))});
    std::iota(lists.back().graphs.begin(), lists.back().graphs.end(), split.first_graph);
  }
  std::string known;
  for (const NamedGraphList& list : lists) known += " " + list.name;
  if (!only.empty()) std::erase_if(lists, [&](const NamedGraphList& list) { return list.name != only; });
  if (lists.empty() && !only.empty())
    throw UsageError(fmt::format("no split '{}' to judge; there are:{}", only, known));
  return lists;
}

BlockLimits limits_of(const Recipe& recipe) {
  return {recipe.training.block.graphs, recipe.training.block.nodes, recipe.training.block.edges};
}

// What both kinds of verdicts come to.
struct Findings {
  Json json;
  std::string table;
  std::string notes;
  int64_t graphs = 0;
};

Findings judge_detector(const EvaluateOptions& options, const Recipe& recipe, const RunFolder& folder,
                        int threads) {
  const DetectorModel detector = load_model(folder.model(recipe));
  const TrainingData data(options.data, recipe, detector.vocabulary);
  if (data.windows() == nullptr) throw UsageError("a detector is judged on frames; this is a graph_set");
  const std::optional<TrainingSplit> split = split_that_trained(data.source(), recipe, detector);
  const std::vector<SplitVerdict> verdicts =
      evaluate(data.source(), detector, split, unknown_id_rule(*data.windows(), detector.benign_ids),
               limits_of(recipe), threads, options.split);
  Findings findings{verdicts_json(verdicts, recipe.seed), verdicts_table(verdicts), {}};
  for (const SplitVerdict& verdict : verdicts) {
    findings.graphs += verdict.graphs;
    for (const std::string& name : verdict.left_out)
      findings.notes += fmt::format("{}: left out {}, a copy of a training recording\n", verdict.name, name);
  }
  return findings;
}

Findings judge_classes(const EvaluateOptions& options, const Recipe& recipe, const RunFolder& folder,
                       int threads) {
  const GnnModel model = load_gnn(folder.model(recipe));
  const TrainingData data(options.data, recipe, model.vocabulary);
  const auto shapes = read_shapes(data.source(), threads);
  const auto verdicts = judge_classifier(data.source(), shapes, model, limits_of(recipe), threads,
                                         lists_to_judge(data, shapes, recipe, model, options.split));
  Findings findings{
      classification_json(verdicts, recipe.gnn.conv, recipe.seed), classification_table(verdicts), {}};
  for (const ClassificationVerdict& verdict : verdicts) findings.graphs += verdict.graphs;
  return findings;
}

}  // namespace

void run_evaluate(const EvaluateOptions& options) {
  const Stopwatch watch;
  const int threads = options.resources.thread_count();
  warm_up_torch(threads);
  Budget budget(options.resources, 0, heap_slack(threads));
  const RunFolder folder{options.run};
  const Recipe recipe = load_recipe(folder.recipe(), {});
  const Findings findings = recipe.task == "detection" ? judge_detector(options, recipe, folder, threads)
                                                       : judge_classes(options, recipe, folder, threads);
  const std::string json = findings.json.dump(1) + "\n";
  if (options.split.empty()) write_text(folder.evaluation(), json);
  if (options.json) {
    fmt::print("{}", json);
    return;
  }
  fmt::print("{}\n{}{} graphs in {}; {}\n", findings.table, findings.notes, format_count(findings.graphs),
             format_seconds(watch.seconds()), budget.report());
  if (options.split.empty()) fmt::print("{}\n", folder.evaluation().string());
}

}  // namespace plimsoll
