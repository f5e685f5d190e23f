#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tasks/gnn/target_nodes.h"
#include "tasks/metrics/label_metrics.h"

namespace plimsoll {

/// A model's results on a split of one giant graph.
struct LabelResult {
  std::string name;  ///< Name of the split.
  double loss = 0;   ///< Same as in training (nn/multi_label.h).
  LabelFigures figures;
};

/// Evaluates a model of several labels per node on splits of one giant graph, from all neighbours of their
/// nodes. Errors: those of predict_target_nodes() and label_figures().
std::vector<LabelResult> evaluate_labels(const GraphView& graph, DiskTopology& topology,
                                         const GnnModel& model, const std::vector<std::string>& splits,
                                         const FullNeighbourOptions& options);

/// Returns the fields of `evaluate --json` (docs/giant-graphs.md).
Json labels_json(const std::vector<LabelResult>& results, const std::string& model, int64_t seed);
/// Return the column names of a table, and the cells of a row for a result.
std::vector<std::string> label_columns();
std::vector<std::string> label_row(const LabelResult& result);

}  // namespace plimsoll
