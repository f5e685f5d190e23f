#include "cli/judge_detector.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/run_detectors.h"
#include "cli/run_record.h"
#include "cli/training_data.h"
#include "ingest/timing_rule.h"
#include "ingest/window_times.h"
#include "store/split_name.h"
#include "train/evaluation_json.h"
#include "train/evaluation_report.h"
#include "train/evaluation_table.h"
#include "train/judged_lists.h"
#include "train/score_file.h"
#include "train/scorer.h"

namespace plimsoll {
namespace {

// How the data was split when the detector was trained; nothing if this is other data.
std::optional<TrainingSplit> split_that_trained(const BlockSource& source, const Recipe& recipe,
                                                const DetectorFacts& facts) {
  if (training_contents(source.tables(), recipe.split.leave_out) != facts.trained_on) return std::nullopt;
  return split_for(recipe, source, {});
}

// Flags a window that holds an ID never seen in benign training traffic.
DetectorScores unknown_ids(const WindowSource& windows, const std::vector<uint32_t>& benign_ids) {
  const auto flags = unknown_id_rule(windows, benign_ids);
  DetectorScores rule{"unknown_id", 0, {{0, 0, 0.5F}}, {}, true};
  rule.scores.assign(flags.begin(), flags.end());
  return rule;
}

// Flags a window in which IDs come sooner or more often than benign ones do.
DetectorScores odd_timing(const TrainingData& data, const DetectorFacts& facts,
                          const std::optional<TrainingSplit>& split, std::span<const uint8_t> truth) {
  const auto learned = TimingRule::from_tensors(*facts.benign);
  if (!learned) throw InputError("the detector's file has no timing rule: train it again");
  DetectorScores rule{"timing", 0, {{0, 0, 0}}, learned->scores(*data.frames(), *data.windows()), true};
  if (split) rule.thresholds = thresholds_from(rule, split->validation, truth);
  return rule;
}

// `columns`: of scores that are still to be made, this one among them.
DetectorScores scores_of(const RunDetector& of, const Detector& detector, ScorerOptions options,
                         std::span<const JudgedList> lists, size_t columns) {
  std::vector<std::span<const int64_t>> predicted;
  size_t longest = 0;
  for (const JudgedList& list : lists) {
    predicted.emplace_back(list.graphs);
    longest = std::max(longest, list.graphs.size());
  }
  options.later = static_cast<int64_t>(columns * sizeof(float)) * options.source->graphs() +
                  judging_bytes(static_cast<int64_t>(longest));
  Scorer scorer(detector, options, predicted);
  DetectorScores scores = score_lists(of.name, of.seed, options.source->graphs(), lists,
                                      [&](std::span<const int64_t> graphs) { return scorer.scores(graphs); });
  scores.thresholds = detector.facts.thresholds;
  return scores;
}

}  // namespace

BlockLimits limits_of(const Recipe& recipe) {
  return {recipe.training.block.graphs, recipe.training.block.nodes, recipe.training.block.edges};
}

Findings judge_detector(const EvaluateOptions& options, Recipe recipe, const RunFolder& folder, int threads,
                        int64_t outside_ledger) {
  std::optional<Published> published;
  if (!options.compare.empty()) published.emplace(options.compare);
  const std::vector<RunDetector> files = detectors_of(folder, recipe);
  const DetectorFacts facts = load_detector(files.front().file).facts;
  recipe.data.without = facts.without;
  const TrainingData data(options.data, recipe,
                          {facts.vocabulary, BehaviourProfile::from_tensors(*facts.benign)});
  if (data.windows() == nullptr) throw UsageError("a detector is judged on frames; this is a graph_set");
  const BlockSource& source = data.source();
  const auto split = split_that_trained(source, recipe, facts);
  const auto lists = lists_to_judge(source.tables(), facts.trained_on, split, options.split);
  const auto shapes = read_shapes(source, threads);
  Vector<uint8_t, Tag::columns> truth(shapes.size());
  std::ranges::transform(shapes, truth.begin(), [](const GraphShape& shape) { return shape.label == 1; });
  const WindowTimes times = window_times(*data.windows(), *data.frames());
  // Models first: that is how tables and charts show them.
  std::vector<DetectorScores> detectors;
  constexpr size_t kRules = 2;
  for (const RunDetector& of : files)
    detectors.push_back(scores_of(of, load_detector(of.file),
                                  {.source = &source,
                                   .shapes = shapes,
                                   .limits = limits_of(recipe),
                                   .threads = threads,
                                   .outside_ledger = outside_ledger},
                                  lists, files.size() + kRules - detectors.size()));
  detectors.push_back(unknown_ids(*data.windows(), facts.benign_ids));
  detectors.push_back(odd_timing(data, facts, split, truth));

  const JudgedData judged{&source.tables(), truth, &times};
  const Evaluation evaluation = judge(judged, lists, detectors);
  if (!options.scores.empty()) write_scores(options.scores, judged, lists, detectors);
  const Published* const compared = published ? &*published : nullptr;
  Findings findings{evaluation_json(evaluation), evaluation_table(evaluation, compared), {}, 0, {}};
  if (options.split.empty())
    findings.report = evaluation_report(evaluation, compared, read_run_record(folder));
  if (published) findings.json["compared"] = published->content();
  for (const JudgedSplit& judged_split : evaluation.splits) {
    findings.graphs += judged_split.all.graphs;
    for (const std::string& name : judged_split.left_out)
      findings.notes +=
          fmt::format("{}: left out {}, a copy of a training recording\n", judged_split.all.name, name);
  }
  return findings;
}

}  // namespace plimsoll
