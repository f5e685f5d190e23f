#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/philox.h"
#include "can/frames/frames.h"
#include "store/graph_set.h"

namespace plimsoll {

/// Frames that own their memory.
struct FrameColumns {
  std::vector<int64_t> time_ns;
  std::vector<uint32_t> can_id;
  std::vector<uint8_t> length, data, label;
  std::vector<uint8_t> channel = {};

  FrameSpans spans() const { return {time_ns, can_id, length, data, label, kPayloadBytes, {}, channel}; }
};

/// Valid frames with numbers drawn from `seed`; every 16th is an attack, every 8th has an extended ID.
inline FrameColumns made_up_frames(int64_t count, uint64_t seed) {
  FrameColumns columns;
  for (int64_t i = 0; i < count; ++i) {
    const auto draw = Philox(seed)({static_cast<uint32_t>(i), 0, 0, 0});
    columns.time_ns.push_back(i * 1000 + draw[0] % 1000);
    columns.can_id.push_back(i % 8 == 0 ? (draw[1] & 0x1FFFFFFF) | kCanExtended : draw[1] & 0x7FF);
    columns.length.push_back(static_cast<uint8_t>(draw[2] % 9));
    for (uint32_t byte = 0; byte < 8; ++byte)
      columns.data.push_back(byte < draw[2] % 9 ? static_cast<uint8_t>(draw[3] >> byte) : uint8_t{0});
    columns.label.push_back(i % 16 == 3 ? 1 : 0);
  }
  return columns;
}

/// 100 frames: a recording of 60 and one of 40.
inline void write_made_up_frames(const std::filesystem::path& folder) {
  FramesWriter writer(folder, true);
  for (const auto& [name, frames] : {std::pair{"first", 60}, std::pair{"second", 40}}) {
    writer.append(made_up_frames(frames, static_cast<uint64_t>(frames)).spans());
    Recording recording;
    recording.name = name;
    recording.split = "train";
    writer.end_recording(recording);
  }
  writer.publish(make_provenance("made up", {}));
}

/// Graphs that own their memory: 3 node features, 2 edge features.
struct GraphColumns {
  std::vector<int64_t> node_ptr = {0}, edge_ptr = {0};
  std::vector<float> x;
  std::vector<int32_t> edges;
  std::vector<float> edge_attr;
  std::vector<int64_t> y;

  GraphSpans spans() const { return {node_ptr, edge_ptr, x, edges, edge_attr, y}; }
};

/// Valid graphs of 1 to 5 nodes and up to 8 edges; graph 2 has no edges.
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

/// What describes `made_up_graphs(10)`.
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
