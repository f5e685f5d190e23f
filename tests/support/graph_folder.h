#pragma once

#include <filesystem>
#include <vector>

#include "store/graph.h"
#include "support/giant_graph.h"

namespace plimsoll {

/// Writes a `graph` of made-up columns: x[v] = (v, 2v, -v) and zeros, stored as requested, and y[v] = v % 3.
/// Of every four nodes, two are for training, one for validation and one for testing. Edges have the weights
/// of the graph, if it has any, and edge_attr[e] = (e, 2e, ...) of the requested width.
inline void write_graph(const std::filesystem::path& folder, const GiantGraph& graph, size_t features = 3,
                        const StoredAs& as = {}, int64_t edge_features = 0) {
  GraphWriter writer(folder, true);
  writer.store_x(as);
  std::vector<float> x;
  std::vector<int64_t> y, train, valid, test;
  for (int64_t v = 0; v < graph.nodes(); ++v) {
    for (const int64_t value : {v, 2 * v, -v}) x.push_back(static_cast<float>(value));
    x.resize(x.size() + features - 3);
    y.push_back(v % 3);
    (v % 4 < 2 ? train : v % 4 == 2 ? valid : test).push_back(v);
  }
  const std::vector<uint32_t> indices(graph.indices.begin(), graph.indices.end());
  writer.append_row_ends(std::span(graph.indptr).subspan(1));
  writer.append_indices(std::span<const uint32_t>(indices));
  if (!graph.weights.empty()) writer.append_edge_weight(graph.weights);
  std::vector<float> edge_attr;
  for (int64_t e = 0; e < writer.edges(); ++e)
    for (int64_t k = 1; k <= edge_features; ++k) edge_attr.push_back(static_cast<float>(k * e));
  if (edge_features > 0) writer.append_edge_attr(edge_attr, edge_features);
  writer.append_x(x, static_cast<int64_t>(features));
  writer.append_y(y);
  writer.append_split(0, train);
  writer.append_split(1, valid);
  writer.append_split(2, test);
  writer.publish({.classes = 3}, make_provenance("made up", {}));
}

}  // namespace plimsoll
