#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/blocks/exchange.h"
#include "engine/model_file/gnn_file.h"
#include "engine/plan/planned_engine.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// What evaluations of graphs have in common. Views of what the caller owns.
struct EvaluationInput {
  const BlockSource& source;
  std::span<const GraphShape> shapes;  ///< of all graphs of the source
  const GnnModel& model;
  BlockLimits limits;
  int threads = 1;
  int64_t outside_ledger = 0;                ///< as in PlanInput
  Exchange* exchange = nullptr;              ///< with the ranks that predict together; null: there are none
  TrainingDevice* device = nullptr;          ///< blocks run there; null: on the CPU
  Rehearsal* rehearsal = nullptr;            ///< learns which budget that needs; null: it is no rehearsal
  const std::vector<NamedGraphList>& lists;  ///< judged one after the other
};

/// The engine for all lists. What the caller holds beside the blocks comes before this, so that the blocks
/// get what is left but `later`, bytes that the caller takes while the engine is there. Errors:
/// BudgetTooSmall.
PlannedEngine engine_for(const EvaluationInput& input, const Objective& objective, int64_t later = 0);

/// Predicts each list by one engine, into one room; zeros in a rehearsal. Not thread-safe.
class ListPredictor {
 public:
  /// `outputs`: how many numbers each list has. `later`: as in engine_for(). Errors: BudgetTooSmall.
  ListPredictor(const EvaluationInput& input, const Objective& objective, const std::vector<size_t>& outputs,
                int64_t later = 0);

  struct Prediction {
    double loss = 0;
    std::span<const float> outputs;  ///< until the next call
  };
  Prediction predict(size_t list);

 private:
  const std::vector<NamedGraphList>& lists_;
  const std::vector<size_t> outputs_;
  Vector<float, Tag::columns> room_;
  Exchange* const exchange_;
  const bool rehearses_;
  PlannedEngine engine_;
};

}  // namespace plimsoll
