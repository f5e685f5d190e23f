#include "can/tasks/evaluate_detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "can/detector/evaluation_options.h"
#include "can/frames/frames.h"
#include "can/recipe/can_sections.h"
#include "can/score/profile_statistics.h"
#include "can/tasks/attention.h"
#include "can/tasks/detector_training.h"
#include "can/tasks/evaluated_lists.h"
#include "can/tasks/evaluation_json.h"
#include "can/tasks/evaluation_report.h"
#include "can/tasks/evaluation_table.h"
#include "can/tasks/fused_scores.h"
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

// The split with which the detector was trained; none if `data` is not its training data.
std::optional<TrainingSplit> split_that_trained(const WindowData& data, const Recipe& recipe,
                                                const DetectorFacts& facts) {
  if (training_contents(data.source().tables(), recipe.split.leave_out) != facts.trained_on)
    return std::nullopt;
  return split_for(recipe, data, {});
}

// Flags windows that hold an ID never seen in benign training traffic.
DetectorScores unknown_ids(const WindowData& data, const MessageIds& benign_ids) {
  const auto flags = unknown_id_rule(data.frames(), data.windows(), benign_ids);
  DetectorScores rule{"unknown_id", 0, {{0, 0, 0.5F}}, {}, true};
  rule.scores.assign(flags.begin(), flags.end());
  return rule;
}

// Flags windows in which IDs come sooner or more often than in benign traffic.
DetectorScores odd_timing(const WindowData& data, const DetectorFacts& facts,
                          const std::optional<TrainingSplit>& split, std::span<const uint8_t> truth) {
  const auto learned = TimingRule::from_tensors(*facts.benign, facts.vocabulary.channels);
  if (!learned) throw InputError("the detector's file has no timing rule: train it again");
  DetectorScores rule{"timing", 0, {{0, 0, 0}}, learned->scores(data.frames(), data.windows()), true};
  if (split) rule.thresholds = thresholds_from(rule, split->validation, truth);
  return rule;
}

// The part of a fused score that a detector of a run provides; teachers and other models provide none.
enum class ModelPart : uint8_t { none, gat, vgae };

ModelPart part_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ModelPart>, 3> kParts = {
      {{"gat", ModelPart::gat}, {"gat_student", ModelPart::gat}, {"vgae_student", ModelPart::vgae}}};
  for (const auto& [detector, part] : kParts)
    if (name == detector) return part;
  return ModelPart::none;
}

// Number of columns of scores that fusing makes in addition to those of the models.
int64_t fused_columns(const std::vector<RunDetector>& files, bool calibrated, bool ablation) {
  const auto fused = std::ranges::count_if(
      files, [](const RunDetector& run_detector) { return part_of(run_detector.name) == ModelPart::gat; });
  if (!calibrated) return fused;
  // Two columns for each model: its scores of calibration windows, and the scores of the model alone.
  return 2 * std::ssize(files) + fused * (ablation ? 3 + static_cast<int64_t>(kFusedParts) : 2);
}

const DetectorEvaluationOptions& detector_options(const RunEvaluation& options) {
  static const DetectorEvaluationOptions kNone;
  const auto* const given = dynamic_cast<const DetectorEvaluationOptions*>(options.of_task.get());
  return given != nullptr ? *given : kNone;
}

// Whether attention is shown: in a report of all splits, or on request.
bool shows_attention(const RunEvaluation& options) {
  return options.split.empty() || !detector_options(options).attention.empty();
}

// The inputs for evaluating the detectors of a run.
struct DetectorEvaluation {
  explicit DetectorEvaluation(const RunEvaluation& options)
      : recipe(options.recipe),
        files(detectors_of(options.folder, recipe)),
        facts(load_detector(files.front().file).facts),
        data(require_frames(options.data), evaluated_recipe(recipe, facts, options),
             {.known = known_of(facts)}),
        scorer{.limits = limits_of(recipe.training),
               .memory = options.memory,
               .exchange = options.exchange,
               .device = options.device} {
    const BlockSource& source = data.source();
    split = split_that_trained(data, recipe, facts);
    lists = lists_to_evaluate(source.tables(), facts.trained_on, split, options.split);
    calibration = can_sections(recipe).calibration.calibration;
    if (calibration > 0) {
      folds.emplace(options.data, recipe, known_of(facts));
      const auto begins =
          with_gaps(data.windows().calibration(), data.source().tables().recordings, data.calibration_gap());
      for (EvaluatedList& list : lists)
        std::erase_if(list.graphs, [&](int64_t g) { return std::ranges::binary_search(begins, g); });
    } else if (detector_options(options).ablation) {
      throw UsageError("--ablation learns levels without a part from calibration windows; give --calibrate");
    }
    shapes = read_shapes(source, options.memory.threads);
    int64_t longest = 0;
    for (const EvaluatedList& list : lists) {
      predicted.emplace_back(list.graphs);
      longest = std::max(longest, static_cast<int64_t>(list.graphs.size()));
    }
    scorer.source = &source;
    scorer.shapes = shapes;
    // Columns for the scores of the detectors, of both rules and of the fusion, and the memory for fusing and
    // evaluating.
    const bool calibrated = folds.has_value();
    const int64_t columns = 3 + (can_sections(recipe).windows.features == WindowFeatures::behaviour
                                     ? fused_columns(files, calibrated, detector_options(options).ablation)
                                     : 0);
    scorer.later =
        columns * source.graphs() * static_cast<int64_t>(sizeof(float)) + evaluation_bytes(longest);
    if (gat() != nullptr && shows_attention(options))
      scorer.later += AttendedWindows::bytes(gat()->file, !detector_options(options).attention.empty());
    if (can_sections(recipe).windows.features == WindowFeatures::behaviour)
      scorer.later += FusedScores::bytes(data.windows(), longest, calibrated);
  }
  DetectorEvaluation(const DetectorEvaluation&) = delete;
  DetectorEvaluation& operator=(const DetectorEvaluation&) = delete;

  static const std::filesystem::path& require_frames(const std::filesystem::path& data) {
    if (const std::string kind = kind_of(data); kind != kFramesKind)
      throw UsageError("a detector is evaluated on frames; this is a " + kind);
    return data;
  }
  static const Recipe& evaluated_recipe(Recipe& recipe, const DetectorFacts& facts,
                                        const RunEvaluation& options) {
    recipe.data.without = facts.without;
    if (const int64_t calibrate = detector_options(options).calibrate; calibrate >= 0)
      can_sections(recipe).calibration.calibration = calibrate;
    return recipe;
  }
  // The detector whose attention is shown: the first GAT, a student if there is one. Null if there are only
  // autoencoders.
  const RunDetector* gat() const {
    const auto found = std::ranges::find_if(
        files, [](const RunDetector& run_detector) { return !run_detector.name.starts_with("vgae"); });
    return found == files.end() ? nullptr : &*found;
  }

  // Options for scoring after an earlier detector, whose remaining memory counts.
  ScorerOptions options_after(const StageMemory& memory) const {
    ScorerOptions options = scorer;
    options.memory = memory.share();
    return options;
  }

  Recipe recipe;
  std::vector<RunDetector> files;
  DetectorFacts facts;
  WindowData data;
  int64_t calibration = 0;                // Maximum windows of each recording.
  std::optional<CalibrationFolds> folds;  // Set if recordings are calibrated.
  std::optional<TrainingSplit> split;
  std::vector<EvaluatedList> lists;
  std::vector<std::span<const int64_t>> predicted;  // The graphs of `lists`.
  Vector<GraphShape, Tag::columns> shapes;
  ScorerOptions scorer;
};

// Scores by graph; NaN if not requested.
DetectorScores scores_on(const RunDetector& run_detector, const DetectorEvaluation& inputs,
                         const BlockSource& source, std::span<const GraphShape> shapes,
                         std::span<const EvaluatedList> lists) {
  const StageMemory memory(inputs.scorer.memory);
  const Detector detector = load_detector(run_detector.file);
  std::vector<std::span<const int64_t>> predicted;
  for (const EvaluatedList& list : lists) predicted.emplace_back(list.graphs);
  ScorerOptions options = inputs.options_after(memory);
  options.source = &source;
  options.shapes = shapes;
  Scorer scorer(detector, options, predicted);
  DetectorScores scores = score_lists(run_detector.name, run_detector.seed, source.graphs(), lists,
                                      [&](std::span<const int64_t> graphs) { return scorer.scores(graphs); });
  scores.thresholds = detector.facts.thresholds;
  return scores;
}

DetectorScores scores_of(const RunDetector& run_detector, const DetectorEvaluation& inputs) {
  return scores_on(run_detector, inputs, inputs.data.source(), inputs.shapes, inputs.lists);
}

// Scores of calibration windows, each with the profile of the other half.
Vector<float, Tag::columns> calibration_scores(const RunDetector& run_detector,
                                               const DetectorEvaluation& inputs) {
  Vector<float, Tag::columns> all(inputs.shapes.size(), std::numeric_limits<float>::quiet_NaN());
  const auto add = [&](const WindowData& data, const EvaluatedList& list) {
    const auto shapes = read_shapes(data.source(), inputs.scorer.memory.threads);
    const DetectorScores scores = scores_on(run_detector, inputs, data.source(), shapes, std::span(&list, 1));
    for (const int64_t g : list.graphs) all[static_cast<size_t>(g)] = scores.scores[static_cast<size_t>(g)];
  };
  add(inputs.folds->first, inputs.folds->by_first);
  add(inputs.folds->second, inputs.folds->by_second);
  return all;
}

// With calibration, replaces the scores of each model with scores relative to the same benign windows, and
// puts the fused scores of models of the same seed and profile statistics first.
void add_calibrated(const DetectorEvaluation& inputs, const FusedScores& fused, bool ablation,
                    std::vector<DetectorScores>& detectors) {
  std::vector<Vector<float, Tag::columns>> calibration;
  for (const RunDetector& run_detector : inputs.files)
    calibration.push_back(calibration_scores(run_detector, inputs));
  std::vector<std::string> statistics(statistic_names().begin(), statistic_names().end());
  std::vector<DetectorScores> rows;
  std::vector<DetectorScores> alone;
  for (size_t i = 0; i < detectors.size(); ++i) {
    const DetectorScores& model = detectors[i];
    const char* const as = model.name.starts_with("vgae") ? "vgae" : "gat";
    const ModelScores by_itself{as, model.scores, calibration[i]};
    alone.push_back(fused.calibrated(model.name, model.seed, {&by_itself, 1}, statistics));
    if (part_of(model.name) != ModelPart::gat) continue;
    std::vector<ModelScores> models = {by_itself};
    for (size_t j = 0; j < detectors.size(); ++j)
      if (part_of(detectors[j].name) == ModelPart::vgae && detectors[j].seed == model.seed)
        models.push_back({"vgae", detectors[j].scores, calibration[j]});
    const auto add = [&](const std::string& name, const std::vector<std::string>& without) {
      rows.push_back(fused.calibrated(name, model.seed, models, without));
    };
    // The score that `detect` uses has no autoencoder (docs/detection.md shows the effect).
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

// Adds the fused scores of the models and profile statistics, with the levels of the trained detector of the
// same seed.
void add_fused(const DetectorEvaluation& inputs, bool ablation, std::vector<DetectorScores>& detectors) {
  if (inputs.data.windows().tables().node_features != feature_tables(WindowFeatures::behaviour).node_features)
    return;
  const FusedScores fused(inputs.data, inputs.folds ? &*inputs.folds : nullptr, inputs.lists);
  if (inputs.folds) return add_calibrated(inputs, fused, ablation, detectors);
  std::vector<DetectorScores> rows;
  for (size_t i = 0; i < detectors.size(); ++i) {
    if (part_of(detectors[i].name) != ModelPart::gat) continue;
    const auto fusion = Fusion::from_tensors(*load_detector(inputs.files[i].file).facts.benign);
    if (!fusion) continue;
    const ModelScores model{"gat", detectors[i].scores, {}};
    rows.push_back(fused.trained("fused", detectors[i].seed, {&model, 1}, *fusion));
  }
  std::ranges::move(detectors, std::back_inserter(rows));
  detectors = std::move(rows);
}

// Writes attention if requested; returns the figures of a report if one is to be written. File errors are
// stored in `unsaved`.
std::vector<std::vector<Report::Figure>> show_attention(const DetectorEvaluation& inputs,
                                                        const RunEvaluation& options,
                                                        std::span<const DetectorScores> detectors,
                                                        Unsaved& unsaved) {
  const RunDetector* const gat = inputs.gat();
  if (gat == nullptr) {
    if (detector_options(options).attention.empty()) return {};
    throw UsageError(
        "--attention: an autoencoder alone has no attention to show; train a detection or distillation");
  }
  if (!shows_attention(options)) return {};
  const DetectorScores& scores = detectors[static_cast<size_t>(gat - inputs.files.data())];
  AttendedWindows attended(gat->file, inputs.data.windows());
  if (!detector_options(options).attention.empty() && rank_of(options.exchange) == 0) {
    options.progress(0, 1);  // Checks for a stop before there is output that would have to be removed.
    unsaved.attempt([&] {
      write_attention(detector_options(options).attention, attended, inputs.lists, scores,
                      inputs.data.identity(), options.progress);
    });
  }
  std::vector<std::vector<Report::Figure>> figures;
  if (options.split.empty())
    for (const EvaluatedList& list : inputs.lists)
      figures.push_back(suspicious_windows(attended, list, scores.scores));
  return figures;
}

}  // namespace

EvaluationResult evaluate_detector(const RunEvaluation& options) {
  std::optional<Published> published;
  if (!detector_options(options).compare.empty()) published.emplace(detector_options(options).compare);
  const DetectorEvaluation inputs(options);
  const auto& [recipe, files, facts, data, calibration, folds, split, lists, predicted, shapes, scorer] =
      inputs;
  const BlockSource& source = data.source();
  Vector<uint8_t, Tag::columns> truth(shapes.size());
  std::ranges::transform(shapes, truth.begin(), [](const GraphShape& shape) { return shape.label == 1; });
  const WindowTimes times = window_times(data.windows(), data.frames());
  // Models come first, as tables and charts show them.
  std::vector<DetectorScores> detectors;
  for (const RunDetector& run_detector : files) detectors.push_back(scores_of(run_detector, inputs));
  Unsaved unsaved;
  const auto suspicious = show_attention(inputs, options, detectors, unsaved);
  add_fused(inputs, detector_options(options).ablation, detectors);
  detectors.push_back(unknown_ids(data, facts.benign_ids));
  detectors.push_back(odd_timing(data, facts, split, truth));

  const EvaluatedData evaluated{&source.tables(), truth, &times};
  const Evaluation evaluation = evaluate(evaluated, lists, detectors);
  if (!detector_options(options).scores.empty() && rank_of(options.exchange) == 0) {
    options.progress(0, 1);  // Checks for a stop before there is output that would have to be removed.
    unsaved.attempt([&] { write_scores(detector_options(options).scores, evaluated, lists, detectors); });
  }
  const Published* const compared = published ? &*published : nullptr;
  EvaluationResult findings{
      evaluation_json(evaluation), evaluation_table(evaluation, compared), {}, 0, {}, unsaved};
  if (options.split.empty())
    findings.report =
        evaluation_report(evaluation, compared, read_run_record(options.folder), suspicious, calibration);
  if (published) findings.json["compared"] = published->content();
  findings.json["calibration_windows"] = calibration;
  if (calibration > 0)
    findings.notes += fmt::format(
        "each recording was compared with its own first benign windows, at most {} or a third of it; these "
        "are not evaluated\n",
        calibration);
  else if (data.windows().learned().contains("profile.ids"))
    findings.notes += "all were compared with the benign profile of the training recordings\n";
  for (const EvaluatedSplit& evaluated_split : evaluation.splits) {
    findings.graphs += evaluated_split.all.graphs;
    for (const std::string& name : evaluated_split.left_out)
      findings.notes +=
          fmt::format("{}: left out {}, a copy of a training recording\n", evaluated_split.all.name, name);
  }
  return findings;
}

int64_t smallest_evaluation_budget(const RunEvaluation& options) {
  Ledger& ledger = Ledger::process();
  ledger.begin_recent();
  const DetectorEvaluation inputs(options);
  const Vector<uint8_t, Tag::columns> truth(inputs.shapes.size());
  const WindowTimes times = window_times(inputs.data.windows(), inputs.data.frames());
  int64_t min = stated_budget(options.memory.outside_ledger + ledger.recent_peak());
  std::vector<Vector<float, Tag::columns>> scores;
  const auto plan = [&](const RunDetector& run_detector, const BlockSource& source,
                        std::span<const GraphShape> shapes,
                        const std::vector<std::span<const int64_t>>& predicted) {
    const StageMemory memory(options.memory);
    ScorerOptions scorer = inputs.options_after(memory);
    scorer.source = &source;
    scorer.shapes = shapes;
    min = std::max(min, plan_scores(load_detector(run_detector.file), scorer, predicted).min_budget);
    scores.emplace_back(inputs.shapes.size());
  };
  for (const RunDetector& run_detector : inputs.files)
    plan(run_detector, inputs.data.source(), inputs.shapes, inputs.predicted);
  if (!inputs.folds) return min;
  const FusedScores fused(inputs.data, &*inputs.folds, inputs.lists);
  for (const RunDetector& run_detector : inputs.files)
    for (const auto& [data, list] : {std::pair(&inputs.folds->first, &inputs.folds->by_first),
                                     std::pair(&inputs.folds->second, &inputs.folds->by_second)})
      plan(run_detector, data->source(), read_shapes(data->source(), options.memory.threads), {list->graphs});
  return min;
}

}  // namespace plimsoll
