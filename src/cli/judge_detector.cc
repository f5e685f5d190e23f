#include "cli/judge_detector.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/run_record.h"
#include "cli/training_data.h"
#include "ingest/window_times.h"
#include "nn/classification.h"
#include "store/split_name.h"
#include "train/attack_scores.h"
#include "train/evaluation_json.h"
#include "train/evaluation_report.h"
#include "train/evaluation_table.h"
#include "train/judged_lists.h"
#include "train/model_file.h"
#include "train/planner.h"
#include "train/score_file.h"

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

// Flags a window that holds an ID never seen in benign training traffic.
DetectorScores unknown_ids(const WindowSource& windows, const std::vector<uint32_t>& benign_ids) {
  const auto flags = unknown_id_rule(windows, benign_ids);
  DetectorScores rule{"unknown_id", 0, {{0, 0, 0.5F}}, {}, true};
  rule.scores.assign(flags.begin(), flags.end());
  return rule;
}

DetectorScores gat_scores(const BlockSource& source, std::span<const GraphShape> shapes,
                          const DetectorModel& detector, const Recipe& recipe, int threads,
                          int64_t outside_ledger, std::span<const JudgedList> lists) {
  const Classification objective(*detector.model);
  std::vector<std::span<const int64_t>> predicted;
  size_t longest = 0;
  for (const JudgedList& list : lists) {
    predicted.emplace_back(list.graphs);
    longest = std::max(longest, list.graphs.size());
  }
  const int64_t column = source.graphs() * static_cast<int64_t>(sizeof(float));
  const BlockLimits limits = limits_of(recipe);
  BlockEngine engine(
      source, shapes, objective, limits,
      require_feasible(make_plan({.source = &source,
                                  .shapes = shapes,
                                  .objective = &objective,
                                  .limits = limits,
                                  .threads = threads,
                                  .predicted = predicted,
                                  .outside_ledger = outside_ledger,
                                  .later = column + judging_bytes(static_cast<int64_t>(longest))})));
  DetectorScores gat =
      score_lists("gat", recipe.seed, source.graphs(), lists,
                  [&](std::span<const int64_t> graphs) { return attack_scores(engine, graphs); });
  gat.thresholds = detector.thresholds;
  return gat;
}

}  // namespace

BlockLimits limits_of(const Recipe& recipe) {
  return {recipe.training.block.graphs, recipe.training.block.nodes, recipe.training.block.edges};
}

Findings judge_detector(const EvaluateOptions& options, const Recipe& recipe, const RunFolder& folder,
                        int threads, int64_t outside_ledger) {
  std::optional<Published> published;
  if (!options.compare.empty()) published.emplace(options.compare);
  const DetectorModel detector = load_model(folder.model(recipe));
  const TrainingData data(options.data, recipe, detector.vocabulary);
  if (data.windows() == nullptr) throw UsageError("a detector is judged on frames; this is a graph_set");
  const BlockSource& source = data.source();
  const auto lists = lists_to_judge(source.tables(), detector.trained_on,
                                    split_that_trained(source, recipe, detector), options.split);
  const auto shapes = read_shapes(source, threads);
  Vector<uint8_t, Tag::columns> truth(shapes.size());
  std::ranges::transform(shapes, truth.begin(), [](const GraphShape& shape) { return shape.label == 1; });
  const WindowTimes times = window_times(*data.windows(), *data.frames());
  std::vector<DetectorScores> detectors;
  detectors.push_back(unknown_ids(*data.windows(), detector.benign_ids));
  // Models first: that is how tables and charts show them.
  detectors.insert(detectors.begin(),
                   gat_scores(source, shapes, detector, recipe, threads, outside_ledger, lists));

  const JudgedData judged{&source.tables(), truth, &times};
  const Evaluation evaluation = judge(judged, lists, detectors);
  if (!options.scores.empty()) write_scores(options.scores, judged, lists, detectors);
  const Published* const compared = published ? &*published : nullptr;
  Findings findings{evaluation_json(evaluation), evaluation_table(evaluation, compared), {}, 0, {}};
  if (options.split.empty())
    findings.report = evaluation_report(evaluation, compared, read_run_record(folder));
  if (published) findings.json["compared"] = published->content();
  for (const JudgedSplit& split : evaluation.splits) {
    findings.graphs += split.all.graphs;
    for (const std::string& name : split.left_out)
      findings.notes +=
          fmt::format("{}: left out {}, a copy of a training recording\n", split.all.name, name);
  }
  return findings;
}

}  // namespace plimsoll
