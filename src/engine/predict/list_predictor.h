#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/blocks/exchange.h"
#include "engine/model_file/gnn_file.h"
#include "engine/plan/planned_engine.h"
#include "memory/memory_share.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Inputs that all evaluations of graphs have in common. The members are views of objects that the caller
/// owns.
struct EvaluationInput {
  const BlockSource& source;
  std::span<const GraphShape> shapes;  ///< One entry per graph of the source.
  const GnnModel& model;
  BlockLimits limits;
  MemoryShare memory = {};
  Exchange* exchange = nullptr;      ///< Connects the ranks that predict together; null: there are none.
  TrainingDevice* device = nullptr;  ///< Blocks run on this device; null: on the CPU.
  /// If set, it receives the budget that the work needs, and no block runs. If null, blocks run.
  Rehearsal* rehearsal = nullptr;
  const std::vector<NamedGraphList>& lists;  ///< Lists, which are evaluated one after the other.
};

/// Makes the engine for all lists. Before this call the caller must allocate all memory that it holds in
/// addition to the blocks. The blocks use the remaining memory, except for `later` bytes that the caller
/// allocates while the engine exists. Errors: those of PlannedEngine.
PlannedEngine engine_for(const EvaluationInput& input, const Objective& objective, int64_t later = 0);

/// Predicts the lists with one engine, into one buffer. In a rehearsal all outputs are zeros. Not
/// thread-safe.
class ListPredictor {
 public:
  /// `outputs` has the number of outputs of each list. `later` has the same meaning as in engine_for().
  /// Errors: those of engine_for(); BudgetExceeded.
  ListPredictor(const EvaluationInput& input, const Objective& objective, const std::vector<size_t>& outputs,
                int64_t later = 0);

  struct Prediction {
    double loss = 0;
    std::span<const float> outputs;  ///< Valid until the next call.
  };
  /// Predicts list number `list` of EvaluationInput::lists. All ranks must call it. Errors: those of
  /// predict_on_ranks().
  Prediction predict(size_t list);

 private:
  const std::vector<NamedGraphList>& lists_;
  const std::vector<size_t> outputs_;
  Vector<float, Tag::columns> buffer_;
  Exchange* const exchange_;
  const bool rehearses_;
  PlannedEngine engine_;
};

}  // namespace plimsoll
