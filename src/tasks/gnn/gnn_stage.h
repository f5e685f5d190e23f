#pragma once

#include <memory>
#include <string>

#include "engine/fit/feature_scale.h"
#include "engine/fit/fit.h"
#include "engine/fit/stored_table.h"
#include "engine/model_file/gnn_file.h"
#include "engine/model_file/graph_models.h"
#include "sample/neighbour/neighbour_source.h"

namespace plimsoll {

/// The items that a model predicts: graphs or nodes, with classes or values; pairs of nodes that may have an
/// edge; nodes of trees without labels (TreePretraining); or nodes with several labels each.
enum class GnnHead { graphs, nodes, pairs, trees, labels };

/// Makes the objective of a task that does not learn classes, values, several labels or trees.
using MakeObjective = std::unique_ptr<Objective> (*)(const GraphModel& model);

/// Options of a stage. The objects to which they point must outlive the calls that use them.
struct GnnStageOptions {
  const BlockSource* source = nullptr;
  GraphShapes shapes;  ///< One entry per graph of the source.
  const Recipe* recipe = nullptr;
  GnnHead head = GnnHead::graphs;
  MakeObjective objective = nullptr;  ///< If null, the objective is chosen by the head and the data.
  const TrainingSplit* split = nullptr;
  std::string data;                           ///< Identity of the data set.
  std::vector<std::string> class_names = {};  ///< Names of classes by number, if the data has names.
  const NeighbourSource* giant = nullptr;     ///< The source, if it is one giant graph.
  /// Graphs whose edge lengths determine `paths.cutoff: auto`; null: the training graphs.
  const GraphList* measured = nullptr;
  const TrainingSplit* seen = nullptr;  ///< The graphs that the run has used; null: those of `split`.
  RunOptions run;                       ///< Its folder also gets model.safetensors.
};

/// Returns the inputs of a model with `outputs` classes or values for this data and head. The caller sets
/// edge_distance.
ModelInputs model_inputs(const Recipe& recipe, const BlockSource& source, GnnHead head, int64_t outputs);

/// Returns the objective that learns from unlabelled trees, by the recipe's `pretraining`. `baseline` has the
/// same meaning as in TreePretraining. Errors: UsageError for a model that is not one of paths.
std::unique_ptr<Objective> make_pretraining(const Recipe& recipe, const GraphModel& model, bool baseline);

/// Returns the scale of node features over a sample, spread evenly, of the graphs or nodes used for training.
/// `giant` is the source if it is one giant graph, otherwise null.
FeatureScale scale_of_some(const BlockSource& source, const NeighbourSource* giant,
                           const TrainingSplit& split);

struct GnnStageResult {
  /// The table of embeddings, if it is on a disk; otherwise null. The model reads it.
  std::unique_ptr<StoredTable> table;
  GnnModel trained;  ///< The model with the weights of the best epoch.
  FitResult fit;
};

/// Plans the memory of train_gnn(); nothing is written. Errors: those of train_gnn().
MemoryPlan plan_gnn(const GnnStageOptions& options);

/// Trains a Gnn, or the model of paths that the recipe names, and writes it to model.safetensors. The model
/// predicts the class of each graph or of each labelled node, or the values of their targets if the source
/// has any. For pairs, its classes() are the `gnn.hidden` channels of a node's embedding; for trees, they are
/// bins of the distances to a node's children, then bins of angles. Errors: those of fit() and
/// target_scale(); InputError for data without node features, for labels that are not classes 0 .. 65535 or
/// are all 0, and for weights of `init_from` that are for other features; UsageError for a recipe that does
/// not suit the data.
GnnStageResult train_gnn(const GnnStageOptions& options);

}  // namespace plimsoll
