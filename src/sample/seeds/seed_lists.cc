#include "sample/seeds/seed_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace plimsoll {
namespace {

void require_nodes(const GraphView& graph) {
  if (graph.nodes() == 0)
    throw InputError(graph.set().folder().string() +
                     ": the graph has no nodes, expected at least one; make the graph again");
}

// Returns the label of a node. Shapes of blocks have labels of 32 bits, where a larger one would be another
// class.
int64_t node_class(const GraphView& graph, int64_t node) {
  const int64_t label = graph.y()[static_cast<size_t>(node)];
  if (label < std::numeric_limits<int32_t>::min() || label > std::numeric_limits<int32_t>::max())
    throw InputError(
        fmt::format("{}: node {}: found the label {}, expected a class below 2^31, or -1 for an unlabelled "
                    "node; correct the labels and make the graph again",
                    graph.set().folder().string(), graph.id(node), label));
  return label;
}

SeedList list_of(const GraphView& graph, const std::string& name, NodeLabels labels) {
  const auto* const split = std::ranges::find(kGraphSplits, name);
  const std::span<const int64_t> nodes = graph.split(static_cast<size_t>(split - kGraphSplits.begin()));
  SeedList list{name, {nodes.begin(), nodes.end()}, {}};
  for (const int64_t node : nodes) {
    if (node < 0 || node >= graph.nodes())
      throw InputError(fmt::format("{}: {}_idx names node {}, expected 0 .. {}; run `plimsoll verify`",
                                   graph.set().folder().string(), name, node, graph.nodes() - 1));
    list.labels.push_back(labels == NodeLabels::classes           ? node_class(graph, node)
                          : has_known_target(graph, node, labels) ? 0
                                                                  : -1);
  }
  if (labels != NodeLabels::classes && !nodes.empty() && std::ranges::max(list.labels) < 0)
    throw InputError(
        fmt::format("{}: no node of the split '{}' has a known number or label to predict (column "
                    "node_target)",
                    graph.set().folder().string(), name));
  return list;
}

SeedList edges_of(const GraphView& graph, const std::string& name) {
  const auto split = static_cast<size_t>(std::ranges::find(kGraphSplits, name) - kGraphSplits.begin());
  if (!graph.set().has_column(edges_column(split)))
    throw InputError(fmt::format(
        "{}: found no edges to predict (column {}), expected a graph whose edges are split; make one with "
        "`plimsoll split-edges`",
        graph.set().folder().string(), edges_column(split)));
  return {.name = name, .edges = graph.split_edges(split)};
}

}  // namespace

bool has_known_target(const GraphView& graph, int64_t node, NodeLabels labels) {
  bool is_known = false;
  for (const float value : graph.targets_of(node)) {
    if (std::isnan(value)) continue;
    is_known = true;
    if (std::isinf(value) || (labels == NodeLabels::multi && value != 0 && value != 1))
      throw InputError(fmt::format("{}: node {}: found {}, expected {}, or NaN if it is unknown",
                                   graph.set().folder().string(), graph.id(node), value,
                                   labels == NodeLabels::multi ? "a label 0 or 1" : "a finite number"));
  }
  return is_known;
}

std::vector<SeedList> node_lists(const GraphView& graph, const std::vector<std::string>& splits,
                                 NodeLabels labels) {
  require_nodes(graph);
  if (!splits.empty() && labels != NodeLabels::classes && graph.node_targets().empty())
    throw InputError(graph.set().folder().string() +
                     ": nodes have no numbers to predict (column node_target); pass them to `plimsoll ingest "
                     "graph --targets`");
  if (!splits.empty() && labels == NodeLabels::classes && graph.y().empty())
    throw InputError(graph.set().folder().string() +
                     ": nodes have no labels (column y); pass labels to `plimsoll ingest graph`");
  std::vector<SeedList> lists;
  lists.reserve(splits.size());
  for (const std::string& name : splits) lists.push_back(list_of(graph, name, labels));
  return lists;
}

std::vector<SeedList> edge_lists(const GraphView& graph, const std::vector<std::string>& splits) {
  require_nodes(graph);
  std::vector<SeedList> lists;
  lists.reserve(splits.size());
  for (const std::string& name : splits) lists.push_back(edges_of(graph, name));
  return lists;
}

}  // namespace plimsoll
