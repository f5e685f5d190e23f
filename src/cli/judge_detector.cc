#include "cli/judge_detector.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/run_detectors.h"
#include "cli/run_record.h"
#include "cli/training_data.h"
#include "ingest/timing_rule.h"
#include "ingest/window_times.h"
#include "memory/ledger.h"
#include "store/split_name.h"
#include "train/evaluation_json.h"
#include "train/evaluation_report.h"
#include "train/evaluation_table.h"
#include "train/judged_lists.h"
#include "train/score_file.h"
#include "train/scorer.h"
#include "train/stage_memory.h"

namespace plimsoll {
namespace {

// How the data was split when the detector was trained; nothing if this is other data.
std::optional<TrainingSplit> split_that_trained(const TrainingData& data, const Recipe& recipe,
                                                const DetectorFacts& facts) {
  if (training_contents(data.source().tables(), recipe.split.leave_out) != facts.trained_on)
    return std::nullopt;
  return split_for(recipe, data.source(), {});
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

// What detectors of a run are judged on.
struct Judging {
  Judging(const EvaluateOptions& options, Recipe recipe, const RunFolder& folder, int threads)
      : files(detectors_of(folder, recipe)),
        facts(load_detector(files.front().file).facts),
        data(options.data, with_features_of(recipe, facts),
             {facts.vocabulary, BehaviourProfile::from_tensors(*facts.benign)}),
        scorer{.limits = limits_of(recipe), .threads = threads} {
    if (data.windows() == nullptr) throw UsageError("a detector is judged on frames; this is a graph_set");
    const BlockSource& source = data.source();
    split = split_that_trained(data, recipe, facts);
    lists = lists_to_judge(source.tables(), facts.trained_on, split, options.split);
    shapes = read_shapes(source, threads);
    int64_t longest = 0;
    for (const JudgedList& list : lists) {
      predicted.emplace_back(list.graphs);
      longest = std::max(longest, static_cast<int64_t>(list.graphs.size()));
    }
    scorer.source = &source;
    scorer.shapes = shapes;
    // Its own scores, those of both rules, and what judging them takes.
    scorer.later = 3 * source.graphs() * static_cast<int64_t>(sizeof(float)) + judging_bytes(longest);
  }
  Judging(const Judging&) = delete;
  Judging& operator=(const Judging&) = delete;

  static const Recipe& with_features_of(Recipe& recipe, const DetectorFacts& facts) {
    recipe.data.without = facts.without;
    return recipe;
  }
  // Beside what scoring with an earlier detector left.
  ScorerOptions beside(const StageMemory& memory, int64_t outside_ledger) const {
    ScorerOptions options = scorer;
    options.outside_ledger = outside_ledger + memory.left();
    return options;
  }

  std::vector<RunDetector> files;
  DetectorFacts facts;
  TrainingData data;
  std::optional<TrainingSplit> split;
  std::vector<JudgedList> lists;
  std::vector<std::span<const int64_t>> predicted;  // the same
  Vector<GraphShape, Tag::columns> shapes;
  ScorerOptions scorer;
};

DetectorScores scores_of(const RunDetector& of, const Judging& judging, int64_t outside_ledger) {
  const StageMemory memory(outside_ledger);
  const Detector detector = load_detector(of.file);
  Scorer scorer(detector, judging.beside(memory, outside_ledger), judging.predicted);
  DetectorScores scores = score_lists(of.name, of.seed, judging.scorer.source->graphs(), judging.lists,
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
  const Judging judging(options, std::move(recipe), folder, threads);
  const auto& [files, facts, data, split, lists, predicted, shapes, scorer] = judging;
  const BlockSource& source = data.source();
  Vector<uint8_t, Tag::columns> truth(shapes.size());
  std::ranges::transform(shapes, truth.begin(), [](const GraphShape& shape) { return shape.label == 1; });
  const WindowTimes times = window_times(*data.windows(), *data.frames());
  // Models first: that is how tables and charts show them.
  std::vector<DetectorScores> detectors;
  for (const RunDetector& of : files) detectors.push_back(scores_of(of, judging, outside_ledger));
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

int64_t budget_to_judge(const EvaluateOptions& options, Recipe recipe, const RunFolder& folder, int threads,
                        int64_t outside_ledger, int64_t cap) {
  Ledger& ledger = Ledger::process();
  ledger.set_cap(Ledger::kUnlimited);
  ledger.begin_recent();
  const Judging judging(options, std::move(recipe), folder, threads);
  const Vector<uint8_t, Tag::columns> truth(judging.shapes.size());
  const WindowTimes times = window_times(*judging.data.windows(), *judging.data.frames());
  int64_t least = outside_ledger + ledger.recent_peak();
  std::vector<Vector<float, Tag::columns>> scores;
  for (const RunDetector& of : judging.files) {
    const StageMemory memory(outside_ledger);
    ScorerOptions scorer = judging.beside(memory, outside_ledger);
    scorer.cap = cap - memory.left();
    least = std::max(least, plan_scores(load_detector(of.file), scorer, judging.predicted).min_budget);
    scores.emplace_back(judging.shapes.size());
  }
  return least;
}

}  // namespace plimsoll
