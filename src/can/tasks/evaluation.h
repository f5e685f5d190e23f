#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "can/tasks/detection_delay.h"
#include "can/tasks/threshold.h"
#include "can/windows/window_times.h"
#include "sample/block/batches.h"
#include "tasks/metrics/metrics.h"
#include "tasks/metrics/ranking.h"

namespace plimsoll {

/// The scores of a detector or a rule for the graphs of a source. A graph whose score is above the level of a
/// threshold is called an attack.
struct DetectorScores {
  std::string name;
  int64_t seed = 0;
  std::vector<Threshold> thresholds;   ///< All are evaluated; there is at least one.
  Vector<float, Tag::columns> scores;  ///< One for each graph of the source; NaN if not requested.
  bool rule = false;                   ///< A rule that is not trained.
  /// Whether scores depend on WindowTimes::look_ahead frames after the window.
  bool looks_ahead = false;
};

/// Graphs to evaluate together, in ascending order: a split.
struct EvaluatedList {
  std::string name;
  GraphList graphs;
  /// Recordings that are not evaluated because their content was used for training.
  std::vector<std::string> left_out;
};

/// The facts about the graphs that evaluate() uses.
struct EvaluatedData {
  const GraphSetTables* tables = nullptr;
  std::span<const uint8_t> truth;  ///< [G] 1 for an attack, 0 for none.
  const WindowTimes* times = nullptr;
};

/// A detector at one threshold. Metrics that need an absent class are undefined.
struct DetectorFigures {
  std::string name;
  int64_t seed = 0;
  bool rule = false;
  Threshold threshold;
  ConfusionCounts confusion;
  std::optional<double> auc;     ///< Depends on the ranking, not on the threshold.
  std::optional<double> pr_auc;  ///< Average precision; does not depend on the threshold.
  DetectionDelay delay;
  /// Hours of benign traffic evaluated; 0 if there is none, or if it has no times.
  double benign_hours = 0;

  /// False alarms per hour of benign traffic; undefined if its duration is 0.
  std::optional<double> false_alarms_per_hour() const {
    if (benign_hours == 0) return std::nullopt;
    return static_cast<double>(confusion.false_positives) / benign_hours;
  }
};

/// All detectors at all thresholds, on one group of graphs: a split, an attack or a recording.
struct EvaluatedGroup {
  std::string name;                   ///< Name of the split, the attack or the recording.
  std::optional<std::string> attack;  ///< The attack, if the group is a recording.
  int64_t recordings = 0;
  int64_t graphs = 0;
  int64_t attack_graphs = 0;
  std::vector<DetectorFigures> detectors;
};

/// The name of the group of recordings without an attack.
inline constexpr const char* kAttackFree = "attack-free";

/// The curves of one detector on one split.
struct DetectorCurves {
  std::string name;
  int64_t seed = 0;
  bool rule = false;
  /// Points for a logarithmic axis that starts at kMinRate. Both curves are empty if a class is absent.
  std::vector<CurvePoint> roc;
  std::vector<CurvePoint> precision_recall;
  ScoreHistogram histogram;
  std::vector<Threshold> thresholds;

  static constexpr double kMinRate = 1e-4;
  static constexpr int kBins = 48;
};

/// The results of all detectors on one list of graphs.
struct EvaluatedSplit {
  EvaluatedGroup all;
  std::vector<std::string> left_out;    ///< As in EvaluatedList.
  std::vector<EvaluatedGroup> attacks;  ///< The recordings of each attack together, benign windows included.
  std::vector<EvaluatedGroup> recordings;  ///< In the order of the data set.
  std::vector<DetectorCurves> curves;
};

struct Evaluation {
  std::vector<EvaluatedSplit> splits;
};

/// Evaluates detectors on lists of graphs: overall, by attack and by recording. Scores are not computed here.
/// Errors: InputError for a NaN score, such as that of a model whose training diverged; Failure if a list
/// does not ascend.
Evaluation evaluate(const EvaluatedData& data, std::span<const EvaluatedList> lists,
                    std::span<const DetectorScores> detectors);

/// Bytes that must be free in the ledger for evaluate() and for computing scores, in addition to the columns
/// of scores. `longest` is the length of the longest list.
int64_t evaluation_bytes(int64_t longest);

/// Computes the scores of all graphs on the lists, without thresholds. `score` returns the scores of some
/// graphs, in their order; `graphs` is the number of graphs of the source.
DetectorScores score_lists(std::string name, int64_t seed, int64_t graphs,
                           std::span<const EvaluatedList> lists,
                           const std::function<Vector<float, Tag::columns>(std::span<const int64_t>)>& score);

/// Thresholds at 1 % and 0.1 % of the benign graphs of `validation`. Errors: InputError if there is none.
std::vector<Threshold> thresholds_from(const DetectorScores& detector, std::span<const int64_t> validation,
                                       std::span<const uint8_t> truth);

}  // namespace plimsoll
