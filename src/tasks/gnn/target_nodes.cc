#include "tasks/gnn/target_nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

void add_split(const GraphView& graph, const std::string& name, NodeLabels labels, PredictedTargets& found) {
  const auto split = static_cast<size_t>(std::ranges::find(kGraphSplits, name) - kGraphSplits.begin());
  const size_t first = found.nodes.size();
  for (const int64_t node : graph.split(split)) {
    if (node < 0 || node >= graph.nodes())
      throw InputError(fmt::format("{}: {}_idx names node {}, expected 0 .. {}; run `plimsoll verify`",
                                   graph.set().folder().string(), name, node, graph.nodes() - 1));
    if (!has_known_target(graph, node, labels)) continue;
    const std::span<const float> targets = graph.targets_of(node);
    found.nodes.push_back(node);
    found.targets.insert(found.targets.end(), targets.begin(), targets.end());
  }
  found.lists.push_back({name, first, found.nodes.size() - first});
}

}  // namespace

PredictedTargets predict_target_nodes(const GraphView& graph, DiskTopology& topology, const GnnModel& model,
                                      const std::vector<std::string>& splits, NodeLabels labels,
                                      const FullNeighbourOptions& options) {
  PredictedTargets found;
  found.width = model.model->classes();
  if (graph.target_width() == 0)
    throw InputError(graph.set().folder().string() +
                     ": nodes have no numbers to predict (column node_target); pass them to `plimsoll ingest "
                     "graph --targets`");
  if (graph.target_width() != found.width)
    throw InputError(
        fmt::format("the data has {} numbers to predict per node, but the model was trained on {}",
                    graph.target_width(), found.width));
  for (const std::string& name : splits) add_split(graph, name, labels, found);
  found.outputs.resize(found.targets.size());
  predict_nodes(graph, topology, model.gnn(), found.nodes, options, found.outputs);
  return found;
}

}  // namespace plimsoll
