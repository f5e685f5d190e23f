#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/predict/full_neighbours.h"
#include "engine/predict/list_predictor.h"
#include "tasks/metrics/classification_metrics.h"

namespace plimsoll {

/// A model's results on a list of graphs, or on a split of one giant graph.
struct ClassificationResult {
  std::string name;    ///< Name of the list or split.
  int64_t graphs = 0;  ///< Number of graphs; 1 for one giant graph.
  double loss = 0;     ///< Mean cross-entropy over items.
  ClassificationFigures figures;
};

/// Receives the logits [items, classes] of the list with index `list`. They are valid during the call.
using HeardLogits = std::function<void(size_t list, std::span<const float> logits)>;

/// Evaluates a model on each list. `heard` is called while the engine exists, so memory that it allocates is
/// not in the plan. Errors: InputError for a label that the model does not have; those of ListPredictor,
/// predict_on_ranks() and `heard`.
std::vector<ClassificationResult> evaluate_classifier(const EvaluationInput& input,
                                                      const HeardLogits& heard = {});

/// Evaluates a model on nodes of one giant graph from all their neighbours
/// (engine/predict/full_neighbours.h); each list is a split of the graph. Errors: InputError for a label that
/// the model does not have, and those of predict_nodes().
std::vector<ClassificationResult> evaluate_nodes(const GraphView& graph, DiskTopology& topology,
                                                 const GnnModel& model,
                                                 const std::vector<std::string>& splits,
                                                 const FullNeighbourOptions& options);

/// Returns the mean cross-entropy of logits [items, classes] and labels [items], in double precision; 0
/// without items.
double mean_cross_entropy(std::span<const float> logits, std::span<const int64_t> labels, int64_t classes);

/// Returns the fields of `evaluate --json` (docs/command-line.md).
Json classification_json(const std::vector<ClassificationResult>& results, const std::string& model,
                         int64_t seed);
/// Return the column names of a table, and the cells of a row for a result.
std::vector<std::string> classification_columns();
std::vector<std::string> classification_row(const ClassificationResult& result);

}  // namespace plimsoll
