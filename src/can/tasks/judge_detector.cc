#include "can/tasks/judge_detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "can/score/profile_statistics.h"
#include "can/tasks/attention.h"
#include "can/tasks/detector_training.h"
#include "can/tasks/evaluation_json.h"
#include "can/tasks/evaluation_report.h"
#include "can/tasks/evaluation_table.h"
#include "can/tasks/fused_scores.h"
#include "can/tasks/judged_lists.h"
#include "can/tasks/run_detectors.h"
#include "can/tasks/score_file.h"
#include "can/tasks/scorer.h"
#include "can/tasks/window_data.h"
#include "can/windows/calibration.h"
#include "can/windows/timing_rule.h"
#include "can/windows/window_times.h"
#include "engine/fit/fit.h"
#include "engine/plan/planner.h"
#include "engine/plan/stage_memory.h"
#include "memory/ledger.h"
#include "run/run_record.h"
#include "store/split_name.h"

namespace plimsoll {
namespace {

// How the data was split when the detector was trained; nothing if this is other data.
std::optional<TrainingSplit> split_that_trained(const WindowData& data, const Recipe& recipe,
                                                const DetectorFacts& facts) {
  if (training_contents(data.source().tables(), recipe.split.leave_out) != facts.trained_on)
    return std::nullopt;
  return split_for(recipe, data, {});
}

// Flags a window that holds an ID never seen in benign training traffic.
DetectorScores unknown_ids(const WindowData& data, const MessageIds& benign_ids) {
  const auto flags = unknown_id_rule(data.frames(), data.windows(), benign_ids);
  DetectorScores rule{"unknown_id", 0, {{0, 0, 0.5F}}, {}, true};
  rule.scores.assign(flags.begin(), flags.end());
  return rule;
}

// Flags a window in which IDs come sooner or more often than benign ones do.
DetectorScores odd_timing(const WindowData& data, const DetectorFacts& facts,
                          const std::optional<TrainingSplit>& split, std::span<const uint8_t> truth) {
  const auto learned = TimingRule::from_tensors(*facts.benign, facts.vocabulary.channels);
  if (!learned) throw InputError("the detector's file has no timing rule: train it again");
  DetectorScores rule{"timing", 0, {{0, 0, 0}}, learned->scores(data.frames(), data.windows()), true};
  if (split) rule.thresholds = thresholds_from(rule, split->validation, truth);
  return rule;
}

// The part that a detector of a run plays in a fused score; teachers and others play none.
std::string part_of(const std::string& name) {
  if (name == "gat" || name == "gat_student") return "gat";
  return name == "vgae_student" ? "vgae" : "";
}

// Columns of scores that fusing makes beside those of the models.
int64_t fused_columns(const std::vector<RunDetector>& files, bool calibrated, bool ablation) {
  const auto fused =
      std::ranges::count_if(files, [](const RunDetector& of) { return part_of(of.name) == "gat"; });
  if (!calibrated) return fused;
  // Of each model on calibration windows, and alone.
  return 2 * std::ssize(files) + fused * (ablation ? 3 + static_cast<int64_t>(kFusedParts) : 2);
}

// In a report of all splits, or where it is asked for.
bool shows_attention(const RunEvaluation& options) {
  return options.split.empty() || !options.attention.empty();
}

// What detectors of a run are judged on.
struct Judging {
  explicit Judging(const RunEvaluation& options)
      : recipe(options.recipe),
        files(detectors_of(options.folder, recipe)),
        facts(load_detector(files.front().file).facts),
        data(require_frames(options.data), as_judged(recipe, facts, options), {.known = known_of(facts)}),
        scorer{.limits = limits_of(recipe.training),
               .threads = options.threads,
               .exchange = options.exchange,
               .device = options.device} {
    const BlockSource& source = data.source();
    split = split_that_trained(data, recipe, facts);
    lists = lists_to_judge(source.tables(), facts.trained_on, split, options.split);
    calibration = recipe.data.calibration;
    if (calibration > 0) {
      folds.emplace(options.data, recipe, known_of(facts));
      const auto begins =
          with_gaps(data.windows().calibration(), data.source().tables().recordings, data.calibration_gap());
      for (JudgedList& list : lists)
        std::erase_if(list.graphs, [&](int64_t g) { return std::ranges::binary_search(begins, g); });
    } else if (options.ablation) {
      throw UsageError("--ablation learns levels without a part from calibration windows; give --calibrate");
    }
    shapes = read_shapes(source, options.threads);
    int64_t longest = 0;
    for (const JudgedList& list : lists) {
      predicted.emplace_back(list.graphs);
      longest = std::max(longest, static_cast<int64_t>(list.graphs.size()));
    }
    scorer.source = &source;
    scorer.shapes = shapes;
    // Its own scores, those of both rules and fused ones, and what fusing and judging them takes.
    const bool calibrated = folds.has_value();
    const int64_t columns =
        3 + (recipe.data.features == "behaviour" ? fused_columns(files, calibrated, options.ablation) : 0);
    scorer.later = columns * source.graphs() * static_cast<int64_t>(sizeof(float)) + judging_bytes(longest);
    if (gat() != nullptr && shows_attention(options))
      scorer.later += AttendedWindows::bytes(gat()->file, !options.attention.empty());
    if (recipe.data.features == "behaviour")
      scorer.later += FusedScores::bytes(data.windows(), longest, calibrated);
  }
  Judging(const Judging&) = delete;
  Judging& operator=(const Judging&) = delete;

  static const std::filesystem::path& require_frames(const std::filesystem::path& data) {
    if (const std::string kind = kind_of(data); kind != "frames")
      throw UsageError("a detector is judged on frames; this is a " + kind);
    return data;
  }
  static const Recipe& as_judged(Recipe& recipe, const DetectorFacts& facts, const RunEvaluation& options) {
    recipe.data.without = facts.without;
    if (options.calibrate >= 0) recipe.data.calibration = options.calibrate;
    return recipe;
  }
  // The first GAT, a student where there is one: whose attention is shown. None of an autoencoder alone.
  const RunDetector* gat() const {
    const auto found =
        std::ranges::find_if(files, [](const RunDetector& of) { return !of.name.starts_with("vgae"); });
    return found == files.end() ? nullptr : &*found;
  }

  // Beside what scoring with an earlier detector left.
  ScorerOptions beside(const StageMemory& memory, int64_t outside_ledger) const {
    ScorerOptions options = scorer;
    options.outside_ledger = outside_ledger + memory.left();
    return options;
  }

  Recipe recipe;
  std::vector<RunDetector> files;
  DetectorFacts facts;
  WindowData data;
  int64_t calibration = 0;                // windows of each recording at most
  std::optional<CalibrationFolds> folds;  // where recordings are calibrated
  std::optional<TrainingSplit> split;
  std::vector<JudgedList> lists;
  std::vector<std::span<const int64_t>> predicted;  // the same
  Vector<GraphShape, Tag::columns> shapes;
  ScorerOptions scorer;
};

// By graph; NaN where it was not asked.
DetectorScores scores_on(const RunDetector& of, const Judging& judging, int64_t outside_ledger,
                         const BlockSource& source, std::span<const GraphShape> shapes,
                         std::span<const JudgedList> lists) {
  const StageMemory memory(outside_ledger);
  const Detector detector = load_detector(of.file);
  std::vector<std::span<const int64_t>> predicted;
  for (const JudgedList& list : lists) predicted.emplace_back(list.graphs);
  ScorerOptions options = judging.beside(memory, outside_ledger);
  options.source = &source;
  options.shapes = shapes;
  Scorer scorer(detector, options, predicted);
  DetectorScores scores = score_lists(of.name, of.seed, source.graphs(), lists,
                                      [&](std::span<const int64_t> graphs) { return scorer.scores(graphs); });
  scores.thresholds = detector.facts.thresholds;
  return scores;
}

DetectorScores scores_of(const RunDetector& of, const Judging& judging, int64_t outside_ledger) {
  return scores_on(of, judging, outside_ledger, judging.data.source(), judging.shapes, judging.lists);
}

// Of calibration windows, each by the profile of the other half.
Vector<float, Tag::columns> calibration_scores(const RunDetector& of, const Judging& judging,
                                               int64_t outside_ledger) {
  Vector<float, Tag::columns> all(judging.shapes.size(), std::numeric_limits<float>::quiet_NaN());
  const auto add = [&](const WindowData& data, const JudgedList& list) {
    const auto shapes = read_shapes(data.source(), judging.scorer.threads);
    const DetectorScores scores =
        scores_on(of, judging, outside_ledger, data.source(), shapes, std::span(&list, 1));
    for (const int64_t g : list.graphs) all[static_cast<size_t>(g)] = scores.scores[static_cast<size_t>(g)];
  };
  add(judging.folds->first, judging.folds->by_first);
  add(judging.folds->second, judging.folds->by_second);
  return all;
}

// With calibration the scores of models become those of each alone, measured by the same benign windows; the
// fused ones, of models of the same seed and profile statistics, stand in front.
void add_calibrated(const Judging& judging, const FusedScores& fused, bool ablation, int64_t outside_ledger,
                    std::vector<DetectorScores>& detectors) {
  std::vector<Vector<float, Tag::columns>> calibration;
  for (const RunDetector& of : judging.files)
    calibration.push_back(calibration_scores(of, judging, outside_ledger));
  std::vector<std::string> statistics(statistic_names().begin(), statistic_names().end());
  std::vector<DetectorScores> rows;
  std::vector<DetectorScores> alone;
  for (size_t i = 0; i < detectors.size(); ++i) {
    const DetectorScores& model = detectors[i];
    const char* const as = model.name.starts_with("vgae") ? "vgae" : "gat";
    const ModelScores by_itself{as, model.scores, calibration[i]};
    alone.push_back(fused.calibrated(model.name, model.seed, {&by_itself, 1}, statistics));
    if (part_of(model.name) != "gat") continue;
    std::vector<ModelScores> models = {by_itself};
    for (size_t j = 0; j < detectors.size(); ++j)
      if (part_of(detectors[j].name) == "vgae" && detectors[j].seed == model.seed)
        models.push_back({"vgae", detectors[j].scores, calibration[j]});
    const auto add = [&](const std::string& name, const std::vector<std::string>& without) {
      rows.push_back(fused.calibrated(name, model.seed, models, without));
    };
    // The score that `detect` takes has no autoencoder (docs/detection.md has what it is worth).
    add("fused", {"vgae"});
    add("statistics", {"gat", "vgae"});
    if (!ablation) continue;
    add("fused-models", statistics);
    for (const FusedPart& part : fused_parts())
      if (part.name != "vgae") add("fused-without-" + part.name, {part.name, "vgae"});
    if (models.size() > 1) add("fused-with-vgae", {});
  }
  std::ranges::move(alone, std::back_inserter(rows));
  detectors = std::move(rows);
}

// What a trained detector's own levels make of the models of its seed and profile statistics.
void add_fused(const Judging& judging, bool ablation, int64_t outside_ledger,
               std::vector<DetectorScores>& detectors) {
  if (judging.data.windows().tables().node_features != feature_tables("behaviour").node_features) return;
  const FusedScores fused(judging.data, judging.folds ? &*judging.folds : nullptr, judging.lists);
  if (judging.folds) return add_calibrated(judging, fused, ablation, outside_ledger, detectors);
  std::vector<DetectorScores> rows;
  for (size_t i = 0; i < detectors.size(); ++i) {
    if (part_of(detectors[i].name) != "gat") continue;
    const auto fusion = Fusion::from_tensors(*load_detector(judging.files[i].file).facts.benign);
    if (!fusion) continue;
    const ModelScores model{"gat", detectors[i].scores, {}};
    rows.push_back(fused.trained("fused", detectors[i].seed, {&model, 1}, *fusion));
  }
  std::ranges::move(detectors, std::back_inserter(rows));
  detectors = std::move(rows);
}

// Writes attention where it is asked for; gives the figures of a report that is to be written. Errors of the
// file go to `unsaved`.
std::vector<std::vector<Report::Figure>> show_attention(const Judging& judging, const RunEvaluation& options,
                                                        std::span<const DetectorScores> detectors,
                                                        Unsaved& unsaved) {
  const RunDetector* const gat = judging.gat();
  if (gat == nullptr) {
    if (options.attention.empty()) return {};
    throw UsageError(
        "--attention: an autoencoder alone has no attention to show; train a detection or distillation");
  }
  if (!shows_attention(options)) return {};
  const DetectorScores& scores = detectors[static_cast<size_t>(gat - judging.files.data())];
  AttendedWindows attended(gat->file, judging.data.windows());
  if (!options.attention.empty() && rank_of(options.exchange) == 0) {
    options.progress(0, 1);  // before there is something to be cleaned up
    unsaved.attempt([&] {
      write_attention(options.attention, attended, judging.lists, scores, judging.data.identity(),
                      options.progress);
    });
  }
  std::vector<std::vector<Report::Figure>> figures;
  if (options.split.empty())
    for (const JudgedList& list : judging.lists)
      figures.push_back(suspicious_windows(attended, list, scores.scores));
  return figures;
}

}  // namespace

Findings judge_detector(const RunEvaluation& options) {
  std::optional<Published> published;
  if (!options.compare.empty()) published.emplace(options.compare);
  const Judging judging(options);
  const auto& [recipe, files, facts, data, calibration, folds, split, lists, predicted, shapes, scorer] =
      judging;
  const int64_t outside_ledger = options.outside_ledger;
  const BlockSource& source = data.source();
  Vector<uint8_t, Tag::columns> truth(shapes.size());
  std::ranges::transform(shapes, truth.begin(), [](const GraphShape& shape) { return shape.label == 1; });
  const WindowTimes times = window_times(data.windows(), data.frames());
  // Models first: that is how tables and charts show them.
  std::vector<DetectorScores> detectors;
  for (const RunDetector& of : files) detectors.push_back(scores_of(of, judging, outside_ledger));
  Unsaved unsaved;
  const auto suspicious = show_attention(judging, options, detectors, unsaved);
  add_fused(judging, options.ablation, outside_ledger, detectors);
  detectors.push_back(unknown_ids(data, facts.benign_ids));
  detectors.push_back(odd_timing(data, facts, split, truth));

  const JudgedData judged{&source.tables(), truth, &times};
  const Evaluation evaluation = judge(judged, lists, detectors);
  if (!options.scores.empty() && rank_of(options.exchange) == 0) {
    options.progress(0, 1);  // before there is something to be cleaned up
    unsaved.attempt([&] { write_scores(options.scores, judged, lists, detectors); });
  }
  const Published* const compared = published ? &*published : nullptr;
  Findings findings{evaluation_json(evaluation), evaluation_table(evaluation, compared), {}, 0, {}, unsaved};
  if (options.split.empty())
    findings.report =
        evaluation_report(evaluation, compared, read_run_record(options.folder), suspicious, calibration);
  if (published) findings.json["compared"] = published->content();
  findings.json["calibration_windows"] = calibration;
  if (calibration > 0)
    findings.notes += fmt::format(
        "each recording was compared with its own first benign windows, at most {} or a third of it; these "
        "are not judged\n",
        calibration);
  else if (data.windows().learned().contains("profile.ids"))
    findings.notes += "all were compared with the benign profile of the training recordings\n";
  for (const JudgedSplit& judged_split : evaluation.splits) {
    findings.graphs += judged_split.all.graphs;
    for (const std::string& name : judged_split.left_out)
      findings.notes +=
          fmt::format("{}: left out {}, a copy of a training recording\n", judged_split.all.name, name);
  }
  return findings;
}

int64_t budget_to_judge(const RunEvaluation& options) {
  const int64_t outside_ledger = options.outside_ledger;
  const int threads = options.threads;
  Ledger& ledger = Ledger::process();
  ledger.begin_recent();
  const Judging judging(options);
  const Vector<uint8_t, Tag::columns> truth(judging.shapes.size());
  const WindowTimes times = window_times(judging.data.windows(), judging.data.frames());
  int64_t min = stated_budget(outside_ledger + ledger.recent_peak());
  std::vector<Vector<float, Tag::columns>> scores;
  const auto plan = [&](const RunDetector& of, const BlockSource& source, std::span<const GraphShape> shapes,
                        const std::vector<std::span<const int64_t>>& predicted) {
    const StageMemory memory(outside_ledger);
    ScorerOptions scorer = judging.beside(memory, outside_ledger);
    scorer.source = &source;
    scorer.shapes = shapes;
    min = std::max(min, plan_scores(load_detector(of.file), scorer, predicted).min_budget);
    scores.emplace_back(judging.shapes.size());
  };
  for (const RunDetector& of : judging.files)
    plan(of, judging.data.source(), judging.shapes, judging.predicted);
  if (!judging.folds) return min;
  const FusedScores fused(judging.data, &*judging.folds, judging.lists);
  for (const RunDetector& of : judging.files)
    for (const auto& [data, list] : {std::pair(&judging.folds->first, &judging.folds->by_first),
                                     std::pair(&judging.folds->second, &judging.folds->by_second)})
      plan(of, data->source(), read_shapes(data->source(), threads), {list->graphs});
  return min;
}

}  // namespace plimsoll
