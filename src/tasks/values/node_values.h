#pragma once

#include "tasks/gnn/target_nodes.h"
#include "tasks/values/regression_evaluation.h"

namespace plimsoll {

/// Evaluates a model of values on splits of one giant graph, from all neighbours. Errors: those of
/// predict_target_nodes().
std::vector<RegressionResult> evaluate_node_values(const GraphView& graph, DiskTopology& topology,
                                                   const GnnModel& model,
                                                   const std::vector<std::string>& splits,
                                                   const FullNeighbourOptions& options);

}  // namespace plimsoll
