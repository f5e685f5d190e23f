#pragma once

#include <string>

#include "engine/fit/fit.h"
#include "engine/model_file/gnn_file.h"

namespace plimsoll {

/// What a model says something about.
enum class GnnHead { graphs, nodes, pairs, trees };

struct GnnStageOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes;  ///< one for each graph of the source
  const Recipe* recipe = nullptr;
  GnnHead head = GnnHead::graphs;
  const TrainingSplit* split = nullptr;
  std::string data;  ///< identity of the data set
  const GraphList* measured =
      nullptr;  ///< whose distances paths.cutoff: auto goes by; null: those that train
  const TrainingSplit* seen = nullptr;  ///< what of the data the run has used; null: what `split` trains on
  RunOptions run;                       ///< model.safetensors goes to its folder as well
};

/// What a model learns of trees that nobody has labelled, by the recipe's `pretraining`; `baseline` as in
/// TreePretrainingOptions. Errors: UsageError for a model that is not one of paths.
std::unique_ptr<Objective> make_pretraining(const Recipe& recipe, const GraphModel& model, bool baseline);

struct GnnStageResult {
  GnnModel trained;  ///< the best epoch's weights
  FitResult fit;
  std::string weights_hash;
};

/// What train_gnn() would need and get of memory; nothing is written. Errors: as train_gnn().
MemoryPlan plan_gnn(const GnnStageOptions& options);

/// Trains a Gnn, or the model of paths that the recipe names, and writes it to model.safetensors: one that
/// says the class of each graph, or of each labelled node, or the values of their targets where the source
/// has such, or for pairs one whose classes() are the `gnn.hidden` channels of a node's embedding, or for
/// trees one whose classes() are bins of how far a node's children are. Errors: as fit(); InputError for
/// labels that are no classes 0, 1, ..., and those of target_scale().
GnnStageResult train_gnn(const GnnStageOptions& options);

}  // namespace plimsoll
