#include "engine/data/finite_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace plimsoll {
namespace {

// Rows of the nodes or edges of a block.
struct Rows {
  std::span<const float> values;
  int64_t width;
  std::span<const int64_t> ptr;  // Offsets of the graphs.
  const char* what;
  const std::vector<std::string>& names;
  std::span<const int32_t> places = {};  // GraphBlock::row_place
};

float require_finite_rows(const Rows& rows, const GraphBlock& block, const GraphSetTables& tables) {
  float greatest = 0;
  const auto bad = std::ranges::find_if(rows.values, [&](float value) {
    greatest = std::max(greatest, std::abs(value));
    return !std::isfinite(value * value);
  });
  if (bad == rows.values.end()) return greatest;
  const int64_t at = bad - rows.values.begin();
  int64_t row = at / rows.width;
  if (!rows.places.empty()) row = std::ranges::find(rows.places, -1 - row) - rows.places.begin();
  const auto column = static_cast<size_t>(at % rows.width);
  const int64_t g = std::upper_bound(rows.ptr.begin(), rows.ptr.end(), row) - rows.ptr.begin() - 1;
  const int64_t graph = block.graph[static_cast<size_t>(g)];
  throw InputError(fmt::format(
      "graph {}{}: the feature {} of {} {} is {}, and {}; fix the source of the data set, and look for more "
      "such "
      "values with `plimsoll verify`",
      graph, recording_of(graph, tables),
      column < rows.names.size() ? fmt::format("'{}'", rows.names[column]) : std::to_string(column),
      rows.what, row - rows.ptr[static_cast<size_t>(g)], *bad,
      std::isfinite(*bad) ? "its square does not fit in float32" : "features must be finite"));
}

}  // namespace

float require_finite_features(const GraphBlock& block, const BlockSource& source) {
  const GraphSetTables& tables = source.tables();
  const int64_t width = source.node_features();
  std::span<const float> x = block.x;
  float greatest = 0;
  if (const FeatureRows* const rows = source.feature_rows()) {
    const auto coming = std::ranges::count_if(block.row_place, [](int32_t place) { return place < 0; });
    x = x.first(static_cast<size_t>(coming * width));
    greatest = rows->greatest_left_out();
  }
  if (source.widths().node_numbers > 0) x = {};  // These are bits of node numbers, not values.
  const float of_nodes = require_finite_rows(
      {x, width, block.node_ptr, "node", tables.node_features, block.row_place}, block, tables);
  const float of_edges = require_finite_rows(
      {block.edge_attr, source.edge_features(), block.edge_ptr, "edge", tables.edge_features}, block, tables);
  return std::max({greatest, of_nodes, of_edges});
}

std::string recording_of(int64_t graph, const GraphSetTables& tables) {
  for (const GraphRange& recording : tables.recordings)
    if (graph >= recording.first_graph && graph < recording.first_graph + recording.graphs)
      return fmt::format(", graph {} of {}/{}", graph - recording.first_graph, recording.split,
                         recording.name);
  return {};
}

}  // namespace plimsoll
