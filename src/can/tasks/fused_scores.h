#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "can/detector/fusion.h"
#include "can/score/frame_scorers.h"
#include "can/tasks/evaluation.h"
#include "can/tasks/window_data.h"

namespace plimsoll {

/// The halves of the calibration windows of all recordings, each compared with a profile of the other half.
struct CalibrationFolds {
  /// Opens the windows twice. The recipe's calibration must be above 0. Errors: those of WindowData.
  CalibrationFolds(const std::filesystem::path& data, const Recipe& recipe, const TrainedContext& known);

  WindowData first;         ///< Windows with profiles of the first halves.
  WindowData second;        ///< Windows with profiles of the second halves.
  EvaluatedList by_first;   ///< The windows evaluated by `first`: the second halves.
  EvaluatedList by_second;  ///< The windows evaluated by `second`: the first halves.
};

/// A model's scores of the evaluated windows, and those of calibration windows with the profile of the other
/// half; both are indexed by graph, NaN if not requested.
struct ModelScores {
  std::string part;  ///< Part of a fused score: "gat" or "vgae".
  std::span<const float> evaluated;
  std::span<const float> calibration = {};
};

/// Computes profile statistics of windows, and fuses them with the scores of models.
class FusedScores {
 public:
  /// Reads the statistics of the lists' windows and, with folds, of the calibration windows. `folds` is null
  /// if nothing is calibrated. All arguments must outlive the object. Errors: BudgetExceeded.
  FusedScores(const WindowData& data, const CalibrationFolds* folds, std::span<const EvaluatedList> lists);

  /// Bytes that an object enters in the ledger; `longest` is the length of the longest list to evaluate.
  static int64_t bytes(const WindowSource& windows, int64_t longest, bool calibrated);

  /// Fuses the scores of each recording with levels learned from its own calibration windows. Needs folds.
  /// `without` names parts to ignore. Errors: InputError that names a recording whose calibration windows
  /// have no two halves apart by the gap (learned_in_fold()).
  DetectorScores calibrated(std::string name, int64_t seed, std::span<const ModelScores> models,
                            const std::vector<std::string>& without) const;
  /// Fuses the scores of all recordings with the levels of a trained detector.
  DetectorScores trained(std::string name, int64_t seed, std::span<const ModelScores> models,
                         const Fusion& fusion) const;

 private:
  using Statistics = Vector<float, Tag::columns>;  // kStatistics values for each graph.

  FusedRows rows(const Statistics& statistics, std::span<const int64_t> graphs,
                 std::span<const ModelScores> models, bool calibration) const;
  DetectorScores empty(std::string name, int64_t seed) const;
  void score(DetectorScores& into, std::span<const int64_t> graphs, std::span<const ModelScores> models,
             const Fusion& fusion) const;

  const WindowData& data_;
  const CalibrationFolds* folds_;
  std::span<const EvaluatedList> lists_;
  Statistics evaluated_;
  Statistics calibration_;
};

/// Reads the statistics of the windows of an ascending list, in its order; `scorers` computes those of
/// frames. `take` gets a window's place in the list. `own_profile` is defined at profile_statistics().
void read_statistics(const WindowSource& windows, std::span<const int64_t> graphs, bool own_profile,
                     const std::function<void(int64_t place, const ProfileStatistics&)>& take,
                     FrameScorers scorers = {});

}  // namespace plimsoll
