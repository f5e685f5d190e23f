#include "train/data/finite_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace plimsoll {
namespace {

// Rows of a block: of its nodes or of its edges.
struct Rows {
  std::span<const float> values;
  int64_t width;
  std::span<const int64_t> ptr;  // of graphs
  const char* what;
  const std::vector<std::string>& names;
};

float require_finite_rows(const Rows& rows, const GraphBlock& block, const GraphSetTables& tables) {
  float greatest = 0;
  const auto bad = std::ranges::find_if(rows.values, [&](float value) {
    greatest = std::max(greatest, std::abs(value));
    return !std::isfinite(value * value);
  });
  if (bad == rows.values.end()) return greatest;
  const int64_t at = bad - rows.values.begin();
  const int64_t row = at / rows.width;
  const auto column = static_cast<size_t>(at % rows.width);
  const int64_t g = std::upper_bound(rows.ptr.begin(), rows.ptr.end(), row) - rows.ptr.begin() - 1;
  const int64_t graph = block.graph[static_cast<size_t>(g)];
  throw InputError(fmt::format(
      "graph {}{}: the feature {} of {} {} is {}, and {}; mend what made the data set, and look for more "
      "such "
      "values with `plimsoll verify`",
      graph, recording_of(graph, tables),
      column < rows.names.size() ? fmt::format("'{}'", rows.names[column]) : std::to_string(column),
      rows.what, row - rows.ptr[static_cast<size_t>(g)], *bad,
      std::isfinite(*bad) ? "its square is no float32" : "features must be finite"));
}

}  // namespace

float require_finite_features(const GraphBlock& block, const BlockSource& source) {
  const GraphSetTables& tables = source.tables();
  const float of_nodes = require_finite_rows(
      {block.x, source.node_features(), block.node_ptr, "node", tables.node_features}, block, tables);
  const float of_edges = require_finite_rows(
      {block.edge_attr, source.edge_features(), block.edge_ptr, "edge", tables.edge_features}, block, tables);
  return std::max(of_nodes, of_edges);
}

std::string recording_of(int64_t graph, const GraphSetTables& tables) {
  for (const GraphRange& recording : tables.recordings)
    if (graph >= recording.first_graph && graph < recording.first_graph + recording.graphs)
      return fmt::format(", graph {} of {}/{}", graph - recording.first_graph, recording.split,
                         recording.name);
  return {};
}

}  // namespace plimsoll
