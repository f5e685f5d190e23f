#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/predict/full_neighbours.h"
#include "engine/predict/list_predictor.h"
#include "tasks/metrics/classification_metrics.h"

namespace plimsoll {

/// A model's figures on a list of graphs.
struct ClassificationVerdict {
  std::string name;
  int64_t graphs = 0;
  double loss = 0;
  ClassificationFigures figures;
};

/// Hears the logits [items, classes] of a list, by its place.
using HeardLogits = std::function<void(size_t list, std::span<const float> logits)>;

/// Judges a model on each list. Errors: BudgetTooSmall; InputError for a label it does not know.
std::vector<ClassificationVerdict> judge_classifier(const EvaluationInput& input,
                                                    const HeardLogits& heard = {});

/// Judges a model on nodes of one giant graph from all their neighbours (engine/predict/full_neighbours.h);
/// each list is a split of the graph. Errors: InputError for a label it does not know, and those of
/// judge_nodes().
std::vector<ClassificationVerdict> judge_nodes_of(const GraphView& graph, DiskTopology& topology,
                                                  const GnnModel& model,
                                                  const std::vector<std::string>& splits,
                                                  const FullNeighbourOptions& options);

/// The mean over items of the loss of training, in double precision; 0 of none.
double mean_cross_entropy(std::span<const float> logits, std::span<const int64_t> labels, int64_t classes);

/// The fields of `evaluate --json` (docs/command-line.md).
Json classification_json(const std::vector<ClassificationVerdict>& verdicts, const std::string& model,
                         int64_t seed);
/// The cells of a table for people: names of columns, and a row for each verdict.
std::vector<std::string> classification_columns();
std::vector<std::string> classification_row(const ClassificationVerdict& verdict);

}  // namespace plimsoll
