#include "can/tasks/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "can/tasks/benign_time.h"

namespace plimsoll {
namespace {

// The graphs of a list that belong to one recording.
struct Part {
  size_t recording;
  std::span<const int64_t> graphs;
};

std::vector<Part> parts_of(const GraphSetTables& tables, std::span<const int64_t> graphs) {
  if (!std::ranges::is_sorted(graphs)) throw Failure("graphs to evaluate are not in ascending order");
  std::vector<Part> parts;
  for (size_t r = 0; r < tables.recordings.size(); ++r) {
    const GraphRange& recording = tables.recordings[r];
    const auto first = std::ranges::lower_bound(graphs, recording.first_graph);
    const auto end = std::lower_bound(first, graphs.end(), recording.first_graph + recording.graphs);
    if (first != end) parts.push_back({r, {first, end}});
  }
  return parts;
}

// The scores of one detector and the truth for the graphs of some recordings.
struct Gathered {
  Vector<float, Tag::columns> scores;
  Vector<uint8_t, Tag::columns> truth;

  Gathered(const DetectorScores& detector, std::span<const uint8_t> all_truth, std::span<const Part> parts) {
    size_t count = 0;
    for (const Part& part : parts) count += part.graphs.size();
    scores.reserve(count);
    truth.reserve(count);
    for (const Part& part : parts)
      for (const int64_t g : part.graphs) {
        const float score = detector.scores[static_cast<size_t>(g)];
        if (std::isnan(score))
          throw InputError(fmt::format(
              "{} (seed {}) gives graph {} a score that is not a number: its training diverged, or "
              "the graph was not scored; train it again with a lower learning rate",
              detector.name, detector.seed, g));
        scores.push_back(score);
        truth.push_back(all_truth[static_cast<size_t>(g)]);
      }
  }
};

DetectorFigures figures_at(const Threshold& threshold, const EvaluatedData& data, std::span<const Part> parts,
                           const DetectorScores& detector, const Gathered& gathered) {
  DetectorFigures figures{
      detector.name, detector.seed, detector.rule, threshold, {}, std::nullopt, std::nullopt, {}, 0};
  for (size_t i = 0; i < gathered.scores.size(); ++i)
    figures.confusion.add(gathered.truth[i] != 0, gathered.scores[i] > threshold.level);
  for (const Part& part : parts)
    figures.delay.add(
        *data.times, part.recording, part.graphs,
        [&](int64_t g) { return detector.scores[static_cast<size_t>(g)] > threshold.level; },
        detector.looks_ahead);
  return figures;
}

// Fills `curves` if it is not null.
EvaluatedGroup evaluate_parts(std::string name, const EvaluatedData& data, std::span<const Part> parts,
                              std::span<const DetectorScores> detectors,
                              std::vector<DetectorCurves>* curves) {
  EvaluatedGroup group{std::move(name), std::nullopt, static_cast<int64_t>(parts.size()), 0, 0, {}};
  double hours = 0;
  for (const Part& part : parts) {
    hours += benign_hours(*data.times, part.recording, data.tables->recordings[part.recording].first_graph,
                          part.graphs, data.truth);
    group.graphs += static_cast<int64_t>(part.graphs.size());
    for (const int64_t g : part.graphs) group.attack_graphs += data.truth[static_cast<size_t>(g)];
  }
  for (const DetectorScores& detector : detectors) {
    const Gathered gathered(detector, data.truth, parts);
    const Ranking ranking(gathered.scores, gathered.truth);
    const auto auc = ranking.auc();
    const auto pr_auc = ranking.average_precision();
    std::vector<float> levels;
    for (const Threshold& threshold : detector.thresholds) {
      group.detectors.push_back(figures_at(threshold, data, parts, detector, gathered));
      group.detectors.back().auc = auc;
      group.detectors.back().pr_auc = pr_auc;
      group.detectors.back().benign_hours = hours;
      levels.push_back(threshold.level);
    }
    if (curves != nullptr)
      curves->push_back({detector.name, detector.seed, detector.rule, ranking.roc(DetectorCurves::kMinRate),
                         ranking.precision_recall(), ranking.histogram(DetectorCurves::kBins, levels),
                         detector.thresholds});
  }
  return group;
}

EvaluatedSplit evaluate_list(const EvaluatedData& data, const EvaluatedList& list,
                             std::span<const DetectorScores> detectors) {
  const std::vector<Part> parts = parts_of(*data.tables, list.graphs);
  EvaluatedSplit split;
  split.left_out = list.left_out;
  split.all = evaluate_parts(list.name, data, parts, detectors, &split.curves);
  std::map<std::string, std::vector<Part>> by_attack;
  for (const Part& part : parts) {
    const GraphRange& recording = data.tables->recordings[part.recording];
    by_attack[recording.attack.value_or(kAttackFree)].push_back(part);
    split.recordings.push_back(evaluate_parts(recording.name, data, {&part, 1}, detectors, nullptr));
    split.recordings.back().attack = recording.attack;
  }
  for (const auto& [attack, its_parts] : by_attack)
    split.attacks.push_back(evaluate_parts(attack, data, its_parts, detectors, nullptr));
  return split;
}

}  // namespace

Evaluation evaluate(const EvaluatedData& data, std::span<const EvaluatedList> lists,
                    std::span<const DetectorScores> detectors) {
  Evaluation evaluation;
  for (const EvaluatedList& list : lists) evaluation.splits.push_back(evaluate_list(data, list, detectors));
  return evaluation;
}

int64_t evaluation_bytes(int64_t longest) {
  // Bytes per graph: two numbers of the model, or score, truth, their sorted copy and a point of a curve.
  constexpr int64_t kPerGraph = sizeof(float) + 1 + 2 * sizeof(float) + sizeof(CurvePoint);
  constexpr int64_t kPages = 64 * 1024;  // Bytes that do not grow with the list.
  return longest * kPerGraph + kPages;
}

DetectorScores score_lists(
    std::string name, int64_t seed, int64_t graphs, std::span<const EvaluatedList> lists,
    const std::function<Vector<float, Tag::columns>(std::span<const int64_t>)>& score) {
  DetectorScores detector{std::move(name), seed, {}, {}, false};
  detector.scores.assign(static_cast<size_t>(graphs), std::numeric_limits<float>::quiet_NaN());
  for (const EvaluatedList& list : lists) {
    const auto scores = score(list.graphs);
    for (size_t i = 0; i < scores.size(); ++i)
      detector.scores[static_cast<size_t>(list.graphs[i])] = scores[i];
  }
  return detector;
}

std::vector<Threshold> thresholds_from(const DetectorScores& detector, std::span<const int64_t> validation,
                                       std::span<const uint8_t> truth) {
  Vector<float, Tag::columns> benign;
  for (const int64_t g : validation)
    if (truth[static_cast<size_t>(g)] == 0) benign.push_back(detector.scores[static_cast<size_t>(g)]);
  return thresholds_from(benign);
}

}  // namespace plimsoll
