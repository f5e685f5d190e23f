#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "can/detector/fusion.h"
#include "can/score/frame_judges.h"
#include "can/tasks/evaluation.h"
#include "can/tasks/window_data.h"

namespace plimsoll {

/// The halves of the calibration windows of all recordings, each compared with a profile of the other half.
struct CalibrationFolds {
  CalibrationFolds(const std::filesystem::path& data, const Recipe& recipe, const LearnedBefore& known);

  WindowData first;     ///< profiles of the first halves
  WindowData second;    ///< of the second ones
  JudgedList by_first;  ///< what is judged by `first`: the second halves
  JudgedList by_second;
};

/// What a model says of the windows that are judged, and of calibration windows by the profile of the other
/// half; both by graph, NaN where it was not asked.
struct ModelScores {
  std::string part;  ///< of a fused score: "gat" or "vgae"
  std::span<const float> judged;
  std::span<const float> calibration = {};
};

/// Profile statistics of windows, and what becomes of them together with models.
class FusedScores {
 public:
  /// `folds` is null where nothing is calibrated. Both must outlive this.
  FusedScores(const WindowData& data, const CalibrationFolds* folds, std::span<const JudgedList> lists);

  /// What one takes of the ledger, `longest` being the longest list that is judged.
  static int64_t bytes(const WindowSource& windows, int64_t longest, bool calibrated);

  /// Of each recording by levels of its own calibration windows. `without`: parts that count for nothing.
  /// Errors: InputError that names a recording with fewer than two of them.
  DetectorScores calibrated(std::string name, int64_t seed, std::span<const ModelScores> models,
                            const std::vector<std::string>& without) const;
  /// Of all recordings by the levels of a trained detector.
  DetectorScores trained(std::string name, int64_t seed, std::span<const ModelScores> models,
                         const Fusion& fusion) const;

 private:
  using Statistics = Vector<float, Tag::columns>;  // kStatistics a graph

  FusedRows rows(const Statistics& statistics, std::span<const int64_t> graphs,
                 std::span<const ModelScores> models, bool calibration) const;
  DetectorScores empty(std::string name, int64_t seed) const;
  void score(DetectorScores& into, std::span<const int64_t> graphs, std::span<const ModelScores> models,
             const Fusion& fusion) const;

  const WindowData& data_;
  const CalibrationFolds* folds_;
  std::span<const JudgedList> lists_;
  Statistics judged_;
  Statistics calibration_;
};

/// The statistics of the windows of an ascending list, in its order, their frames by `judges`; `take` gets
/// the place in the list. `own_profile`: as profile_statistics().
void read_statistics(const WindowSource& windows, std::span<const int64_t> graphs, bool own_profile,
                     const std::function<void(int64_t place, const ProfileStatistics&)>& take,
                     FrameJudges judges = {});

}  // namespace plimsoll
