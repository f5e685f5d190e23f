#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "can/tasks/detector_file.h"
#include "engine/plan/planned_engine.h"
#include "memory/memory_share.h"
#include "memory/vector.h"

namespace plimsoll {

struct ScorerOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< One entry for each graph of the source.
  BlockLimits limits = {};
  MemoryShare memory = {};
  int64_t later = 0;  ///< Bytes needed later, as in PlanInput.
  Pressure* pressure = nullptr;
  Exchange* exchange = nullptr;      ///< Connects the ranks that score together; null: there are none.
  bool unknown_vehicle = false;      ///< Score graphs as if all their IDs were unknown.
  TrainingDevice* device = nullptr;  ///< Device that runs blocks; null: the CPU.
  /// If set, it receives the budget that scoring needs, and nothing is scored. If null, graphs are scored.
  Rehearsal* rehearsal = nullptr;
};

/// The objective for scores: the detector's outputs, with unknown IDs as separate evidence if the detector
/// needs that, and with all IDs treated as unknown if requested.
class ScoringObjective {
 public:
  /// Errors: InputError if the detector needs features other than the source's.
  ScoringObjective(const Detector& detector, const ScorerOptions& options);
  const Objective& operator*() const { return *layers_.back(); }
  const Objective* operator->() const { return layers_.back().get(); }

 private:
  // Each objective wraps the one before.
  std::vector<std::unique_ptr<Objective>> layers_;
};

/// Scores graphs with a detector, block by block; the greater the score, the more a graph looks like an
/// attack. The score of a GAT is the log-odds of class 1. The score of an autoencoder is the reconstruction
/// error, computed from the means of codes and weighted as in training: squared error of features + 0.1
/// cross-entropy of IDs + 0.05 binary cross-entropy of neighbours.
class Scorer {
 public:
  /// `lists` are the graphs to be scored. The detector and everything that the options refer to must outlive
  /// the scorer. Errors: BudgetTooSmall; InputError if the detector needs features other than the source's.
  Scorer(const Detector& detector, const ScorerOptions& options,
         const std::vector<std::span<const int64_t>>& lists);

  /// The scores in the order of `graphs`, which must be one of the lists. All ranks make the same call and
  /// get all scores. Not available in a rehearsal. Errors: those of running blocks.
  Vector<float, Tag::columns> scores(std::span<const int64_t> graphs);
  const MemoryPlan& plan() const { return engine_.plan(); }

 private:
  bool rebuilds_;  // Whether the detector is an autoencoder.
  ScoringObjective objective_;
  Exchange* const exchange_;
  PlannedEngine engine_;
};

/// The memory that a Scorer would need and get. Errors: those of its constructor except BudgetTooSmall.
MemoryPlan plan_scores(const Detector& detector, const ScorerOptions& options,
                       const std::vector<std::span<const int64_t>>& lists);

}  // namespace plimsoll
