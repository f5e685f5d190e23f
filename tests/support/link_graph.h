#pragma once

#include <filesystem>
#include <vector>

#include "store/graph.h"
#include "support/giant_graph.h"

namespace plimsoll {

/// Makes an undirected graph without self-loops: v has edges to about a third of the nodes near it.
inline GiantGraph undirected_graph(int64_t nodes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::set<int64_t>> lists(static_cast<size_t>(nodes));
  for (int64_t v = 0; v < nodes; ++v)
    for (int64_t u = v + 1; u < std::min(v + 16, nodes); ++u)
      if (random() % 3 == 0) {
        lists[static_cast<size_t>(v)].insert(u);
        lists[static_cast<size_t>(u)].insert(v);
      }
  return GiantGraph(lists);
}

/// Writes a `graph` with features x[v] = (v, 2v) and, if requested, weights and edge features that identify
/// the edge's place.
inline void write_plain_graph(const std::filesystem::path& folder, const GiantGraph& graph,
                              bool edge_columns = false) {
  GraphWriter writer(folder, true);
  std::vector<float> x, weights, attributes;
  for (int64_t v = 0; v < graph.nodes(); ++v)
    x.insert(x.end(), {static_cast<float>(v), static_cast<float>(2 * v)});
  const std::vector<uint32_t> indices(graph.indices.begin(), graph.indices.end());
  writer.append_row_ends(std::span(graph.indptr).subspan(1));
  writer.append_indices(std::span<const uint32_t>(indices));
  writer.append_x(x, 2);
  for (size_t e = 0; edge_columns && e < indices.size(); ++e) {
    weights.push_back(static_cast<float>(e));
    attributes.insert(attributes.end(), {static_cast<float>(e), -static_cast<float>(e)});
  }
  if (edge_columns) {
    writer.append_edge_weight(weights);
    writer.append_edge_attr(attributes, 2);
  }
  writer.publish({}, make_provenance("made up", {}));
}

}  // namespace plimsoll
