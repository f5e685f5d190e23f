#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/philox.h"
#include "store/graph_set.h"

namespace plimsoll {

/// Graphs that own their memory: 3 node features, 2 edge features.
struct GraphColumns {
  std::vector<int64_t> node_ptr = {0}, edge_ptr = {0};
  std::vector<float> x;
  std::vector<int32_t> edges;
  std::vector<float> edge_attr;
  std::vector<int64_t> y;

  GraphSpans spans() const { return {node_ptr, edge_ptr, x, edges, edge_attr, y}; }
};

/// Makes valid graphs of 1 to 5 nodes and up to 8 edges. Graph 2 has no edges.
inline GraphColumns made_up_graphs(int64_t count) {
  GraphColumns columns;
  for (int64_t g = 0; g < count; ++g) {
    const auto draw = Philox(7)({static_cast<uint32_t>(g), 0, 0, 0});
    const int32_t nodes = static_cast<int32_t>(draw[0] % 5) + 1;
    const int32_t edges = g == 2 ? 0 : static_cast<int32_t>(draw[1] % 8) + 1;
    for (int32_t i = 0; i < 3 * nodes; ++i)
      columns.x.push_back(static_cast<float>(g) + 0.25F * static_cast<float>(i));
    for (int32_t e = 0; e < edges; ++e) {
      columns.edges.insert(columns.edges.end(), {e % nodes, (e + g % 3 == 0 ? e : e + 1) % nodes});
      columns.edge_attr.insert(columns.edge_attr.end(), {1.0F, static_cast<float>(e)});
    }
    columns.node_ptr.push_back(columns.node_ptr.back() + nodes);
    columns.edge_ptr.push_back(columns.edge_ptr.back() + edges);
    columns.y.push_back(g % 2);
  }
  return columns;
}

/// Describes `made_up_graphs(10)`.
inline GraphSetTables made_up_tables() {
  GraphSetTables tables;
  const auto range = [](const char* name, const char* split, int64_t first, int64_t graphs) {
    GraphRange result;
    result.name = name;
    result.split = split;
    result.first_graph = first;
    result.graphs = graphs;
    return result;
  };
  tables.splits = {range("train", "", 0, 6), range("test", "", 6, 4)};
  tables.recordings = {range("benign", "train", 0, 4), range("flood", "train", 4, 2),
                       range("copy", "test", 6, 4)};
  tables.recordings[1].attack = "flood";
  tables.recordings[2].copy_of = "train/benign";
  tables.recordings[2].content = "0123";
  tables.node_features = {"a", "b", "c"};
  tables.edge_features = {"d", "e"};
  tables.vocabulary.keys = {0x7FF, 0x80000001};
  return tables;
}

inline void write_made_up_graphs(const std::filesystem::path& folder,
                                 const GraphColumns& columns = made_up_graphs(10),
                                 const GraphSetTables& tables = made_up_tables(),
                                 FileSystem& files = FileSystem::disk()) {
  GraphSetWriter writer(folder, true, 3, 2, {}, files);
  writer.append(columns.spans());
  writer.publish(tables, make_provenance("made up", {}));
}

}  // namespace plimsoll
