#pragma once

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "store/graph.h"
#include "store/graph_set.h"

namespace plimsoll {

/// Makes a split of consecutive graphs.
inline GraphRange range_of(const std::string& name, int64_t first, int64_t graphs) {
  GraphRange range;
  range.name = name;
  range.first_graph = first;
  range.graphs = graphs;
  return range;
}

/// Writes a graph_set with every column that a task on small graphs needs: trees whose parents come first,
/// with positions, classes and targets of graphs and of nodes, and 3 node features.
inline void write_trees(const std::filesystem::path& folder, int64_t graphs, uint32_t seed,
                        const std::vector<GraphRange>& splits = {}) {
  std::mt19937 random(seed);
  const auto number = [&] { return static_cast<float>(random() % 2000) / 1000 - 1; };
  GraphSetWriter writer(folder, true, 3, 2, {.graph = 2, .node = 1});
  for (int64_t g = 0; g < graphs; ++g) {
    const auto nodes = static_cast<int32_t>(2 + random() % 24);
    std::vector<float> x, pos, node_target, edge_attr;
    std::vector<int64_t> node_y;
    std::vector<int32_t> edges;
    for (int32_t n = 0; n < nodes; ++n) {
      for (int k = 0; k < 3; ++k) {
        x.push_back(number());
        pos.push_back(number());
      }
      node_y.push_back(n % 3 - 1);
      node_target.push_back(n % 7 == 6 ? std::numeric_limits<float>::quiet_NaN() : number());
      const auto parent = static_cast<int32_t>(n == 0 ? 0 : n - 1 - static_cast<int32_t>(random() % 4) % n);
      if (n > 0) edges.insert(edges.end(), {parent, n, n, parent});
    }
    edge_attr.resize(edges.size(), 0.5F);
    const std::vector<int64_t> node_ptr = {0, nodes};
    const std::vector<int64_t> edge_ptr = {0, std::ssize(edges) / 2};
    const std::vector<int64_t> y = {g % 2};
    const std::vector<float> target = {number(), g % 5 == 4 ? std::numeric_limits<float>::quiet_NaN() : 1};
    writer.append({node_ptr, edge_ptr, x, edges, edge_attr, y, node_y, target, node_target, pos});
  }
  GraphSetTables tables;
  tables.splits = splits;
  if (splits.empty()) tables.splits = {range_of("all", 0, graphs)};
  tables.node_features = {"a", "b", "c"};
  tables.edge_features = {"d", "e"};
  writer.publish(tables, make_provenance("made up", {}));
}

/// Writes one giant undirected graph of random degrees with heavy tails. Half of its nodes are for training,
/// a quarter for validation, each has two labels, and every tenth edge is split for link prediction.
inline void write_giant(const std::filesystem::path& folder, int64_t nodes, int64_t features, uint32_t seed) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> degree(1.0, 1.0);
  const auto any_node = [&] { return static_cast<int64_t>(random() % static_cast<uint64_t>(nodes)); };
  std::vector<std::set<int64_t>> lists(static_cast<size_t>(nodes));
  for (int64_t v = 0; v < nodes; ++v)
    for (auto i = static_cast<int64_t>(std::min(degree(random), 200.0)); i >= 0; --i)
      if (const int64_t u = any_node(); u != v) {
        lists[static_cast<size_t>(v)].insert(u);
        lists[static_cast<size_t>(u)].insert(v);
      }
  GraphWriter writer(folder, true);
  std::vector<int64_t> ends, y, edges;
  std::vector<uint32_t> indices;
  std::vector<int64_t> nodes_of_split[3], edges_of_split[3];
  for (int64_t v = 0; v < nodes; ++v) {
    for (const int64_t u : lists[static_cast<size_t>(v)]) {
      indices.push_back(static_cast<uint32_t>(u));
      if (u < v && (u + v) % 10 == 0)
        for (const int64_t end : {u, v}) edges_of_split[(u + v) / 10 % 3].push_back(end);
    }
    ends.push_back(std::ssize(indices));
    y.push_back(v % 3);
    nodes_of_split[v % 4 < 2 ? 0 : v % 4 - 1].push_back(v);
  }
  std::vector<float> x(static_cast<size_t>(nodes * features));
  for (float& value : x) value = static_cast<float>(random() % 1000) / 1000;
  writer.append_row_ends(ends);
  writer.append_indices(std::span<const uint32_t>(indices));
  writer.append_x(x, features);
  writer.append_y(y);
  std::vector<float> labels;  // Two labels of each node.
  for (int64_t v = 0; v < nodes; ++v)
    labels.insert(labels.end(), {static_cast<float>(v % 2), v % 3 == 0 ? 1.F : 0.F});
  writer.append_node_targets(labels, 2);
  for (size_t split = 0; split < 3; ++split) {
    writer.append_split(split, nodes_of_split[split]);
    writer.append_split_edges(split, edges_of_split[split]);
  }
  writer.publish({.classes = 3}, make_provenance("made up", {}));
}

}  // namespace plimsoll
