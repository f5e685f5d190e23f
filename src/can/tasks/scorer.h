#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "can/tasks/detector_file.h"
#include "engine/plan/planned_engine.h"
#include "memory/vector.h"

namespace plimsoll {

struct ScorerOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< one for each graph of the source
  BlockLimits limits = {};
  int threads = 1;
  int64_t outside_ledger = 0;  ///< as in PlanInput
  int64_t later = 0;           ///< likewise
  Pressure* pressure = nullptr;
  Exchange* exchange = nullptr;      ///< with the ranks that score together; null: there are none
  bool unknown_vehicle = false;      ///< scores graphs as if all their IDs were unknown
  TrainingDevice* device = nullptr;  ///< blocks run there; null: on the CPU
  Rehearsal* rehearsal = nullptr;    ///< learns which budget that needs, and nothing is scored; null: none
};

/// What scores are made of: what a detector says, unknown IDs as evidence of their own where it wants them
/// so, and graphs without known IDs where that is asked for.
class ScoringObjective {
 public:
  /// Errors: InputError where the detector wants other features than the source has.
  ScoringObjective(const Detector& detector, const ScorerOptions& options);
  const Objective& operator*() const { return *layers_.back(); }
  const Objective* operator->() const { return layers_.back().get(); }

 private:
  std::vector<std::unique_ptr<Objective>> layers_;  // each around the one before
};

/// Scores graphs by a detector, block by block; the greater the score, the more it looks like an attack. Of a
/// GAT the log-odds of class 1, of an autoencoder the error of its reconstruction from means: squared error
/// of features + 0.1 cross-entropy of IDs + 0.05 binary cross-entropy of neighbours, the weights it is
/// trained with.
class Scorer {
 public:
  /// `lists`: what will be scored. The detector and the options' spans must outlive the scorer. Errors:
  /// BudgetTooSmall; InputError where the detector wants other features than the source has.
  Scorer(const Detector& detector, const ScorerOptions& options,
         const std::vector<std::span<const int64_t>>& lists);

  /// In the order of the graphs, which must be one of the lists. Ranks make the same call, and all get them.
  Vector<float, Tag::columns> scores(std::span<const int64_t> graphs);
  const MemoryPlan& plan() const { return engine_.plan(); }

 private:
  bool rebuilds_;  // an autoencoder
  ScoringObjective objective_;
  Exchange* const exchange_;
  PlannedEngine engine_;
};

/// What a Scorer would need and get of memory. Errors: as its constructor, BudgetTooSmall aside.
MemoryPlan plan_scores(const Detector& detector, const ScorerOptions& options,
                       const std::vector<std::span<const int64_t>>& lists);

}  // namespace plimsoll
