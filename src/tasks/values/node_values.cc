#include "tasks/values/node_values.h"

#include <cmath>

namespace plimsoll {
namespace {

// Returns the mean of the training loss over items, in double precision (nn/regression.h).
double mean_squared_error(std::span<const float> values, std::span<const float> targets,
                          const at::Tensor& scale) {
  const auto width = static_cast<size_t>(scale.numel());
  const float* const unit = scale.const_data_ptr<float>();
  double sum = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (std::isnan(targets[i])) continue;
    const double error = (double{values[i]} - targets[i]) / unit[i % width];
    sum += error * error;
  }
  return targets.empty() ? 0 : sum / static_cast<double>(targets.size());
}

}  // namespace

std::vector<RegressionResult> evaluate_node_values(const GraphView& graph, DiskTopology& topology,
                                                   const GnnModel& model,
                                                   const std::vector<std::string>& splits,
                                                   const FullNeighbourOptions& options) {
  const PredictedTargets found =
      predict_target_nodes(graph, topology, model, splits, NodeLabels::numbers, options);
  std::vector<RegressionResult> results;
  for (const PredictedTargets::List& list : found.lists) {
    const std::span<const float> values = list.rows(found.outputs, found.width);
    const std::span<const float> targets = list.rows(found.targets, found.width);
    results.push_back({list.name, 1, mean_squared_error(values, targets, model.model->target_units().scale),
                       regression_figures(values, targets, found.width)});
  }
  return results;
}

}  // namespace plimsoll
