#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "can/tasks/detection_delay.h"
#include "can/windows/window_times.h"
#include "sample/block/batches.h"
#include "tasks/metrics/metrics.h"
#include "tasks/metrics/ranking.h"
#include "tasks/metrics/threshold.h"

namespace plimsoll {

/// What a detector, or a rule beside it, says of the graphs of a source: a graph whose score is above a level
/// is called an attack.
struct DetectorScores {
  std::string name;
  int64_t seed = 0;
  std::vector<Threshold> thresholds;   ///< each is judged; at least one
  Vector<float, Tag::columns> scores;  ///< one for each graph of the source, NaN where not asked for
  bool rule = false;                   ///< trained on nothing
  bool looks_ahead = false;            ///< at frames after a window, as WindowTimes::look_ahead tells
};

/// Graphs to judge together, in ascending order: a split.
struct JudgedList {
  std::string name;
  GraphList graphs;
  std::vector<std::string> left_out;  ///< recordings not judged because their content trained
};

/// What judge() knows of the graphs.
struct JudgedData {
  const GraphSetTables* tables = nullptr;
  std::span<const uint8_t> truth;  ///< [G] 1 for an attack, 0 for none
  const WindowTimes* times = nullptr;
};

/// A detector at one threshold. Figures that need an absent class are undefined.
struct DetectorFigures {
  std::string name;
  int64_t seed = 0;
  bool rule = false;
  Threshold threshold;
  Verdicts verdicts;
  std::optional<double> auc;     ///< of the ranking, whatever the threshold
  std::optional<double> pr_auc;  ///< average precision; the same
  DetectionDelay delay;
  double benign_hours = 0;  ///< of the traffic that is judged; 0: there is none, or it has no times

  /// False alarms an hour of benign traffic; undefined where that has no length.
  std::optional<double> false_alarms_per_hour() const {
    if (benign_hours == 0) return std::nullopt;
    return static_cast<double>(verdicts.false_positives) / benign_hours;
  }
};

/// Every detector at every threshold, on graphs that have something in common.
struct JudgedGroup {
  std::string name;                   ///< of the split, the attack or the recording
  std::optional<std::string> attack;  ///< of a recording
  int64_t recordings = 0;
  int64_t graphs = 0;
  int64_t attack_graphs = 0;
  std::vector<DetectorFigures> detectors;
};

/// The name of the group of recordings without an attack.
inline constexpr const char* kAttackFree = "attack-free";

/// What is drawn of one detector on one split.
struct DetectorCurves {
  std::string name;
  int64_t seed = 0;
  bool rule = false;
  std::vector<CurvePoint> roc;  ///< for an axis that begins at kMinRate
  std::vector<CurvePoint> precision_recall;
  ScoreHistogram histogram;
  std::vector<Threshold> thresholds;

  static constexpr double kMinRate = 1e-4;
  static constexpr int kBins = 48;
};

struct JudgedSplit {
  JudgedGroup all;
  std::vector<std::string> left_out;
  std::vector<JudgedGroup> attacks;     ///< recordings of one attack together, benign windows included
  std::vector<JudgedGroup> recordings;  ///< in the order of the data set
  std::vector<DetectorCurves> curves;
};

struct Evaluation {
  std::vector<JudgedSplit> splits;
};

/// Judges detectors on lists of graphs: overall, by attack and by recording. Scores are read, not made.
/// Errors: InputError for a score that is no number, as of a model whose training diverged.
Evaluation judge(const JudgedData& data, std::span<const JudgedList> lists,
                 std::span<const DetectorScores> detectors);

/// What the ledger needs free for judge() and for making scores, beside the columns of scores: `longest` is
/// the length of the longest list.
int64_t judging_bytes(int64_t longest);

/// Scores of all graphs on the lists: `score` gives those of some graphs, in their order. `graphs`: of the
/// source. No thresholds yet.
DetectorScores score_lists(std::string name, int64_t seed, int64_t graphs, std::span<const JudgedList> lists,
                           const std::function<Vector<float, Tag::columns>(std::span<const int64_t>)>& score);

/// Thresholds at 1 % and 0.1 % of the benign graphs of `validation`. Errors: InputError when there is none.
std::vector<Threshold> thresholds_from(const DetectorScores& detector, std::span<const int64_t> validation,
                                       std::span<const uint8_t> truth);

}  // namespace plimsoll
