#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/json.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"
#include "io/npy.h"
#include "sample/block/block.h"
#include "store/verify.h"

namespace plimsoll {

/// Writes the folder of a data set. The input is its manifest and, after the first 0 byte, the data of its
/// columns in the manifest's order, each as long as the manifest says and padded with zeros.
inline std::filesystem::path write_data_set(std::string_view input) {
  const std::filesystem::path folder = Scratch::folder() / "set";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string_view manifest = input.substr(0, input.find('\0'));
  std::string_view data = input.substr(std::min(manifest.size() + 1, input.size()));
  Scratch::write("set/manifest.json", manifest);

  const Json json = Json::parse(manifest, nullptr, false);
  if (!json.is_object() || !json.contains("columns") || !json["columns"].is_object()) return folder;
  for (const auto& [name, column] : json["columns"].items()) {
    try {
      const std::string file = column.at("file");
      const NpyShape shape{column.at("dtype"), column.at("shape")};
      const int64_t bytes = shape.elements() * npy_item_bytes(shape.dtype);
      if (file.empty() || file.size() > 64 ||
          file.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
        continue;
      if (shape.shape.size() > 8 || shape.elements() < 0 || shape.elements() > 4096) continue;
      std::string text = npy_header(shape);
      text += data.substr(0, static_cast<size_t>(bytes));
      text.resize(static_cast<size_t>(kNpyDataOffset + bytes));
      data.remove_prefix(std::min(static_cast<size_t>(bytes), data.size()));
      Scratch::write("set/" + file, text);
    } catch (const Json::exception&) {
      continue;  // The column is invalid, which the view has to report.
    }
  }
  return folder;
}

/// Whether verify_data_set() only finds wrong checksums, which an input can hardly get right.
inline bool is_whole(const std::filesystem::path& folder) {
  bool whole = true;
  for (const std::string& wrong : verify_data_set(folder))
    whole &= wrong.find("its checksum is") != std::string::npos;
  return whole;
}

/// Reads all graphs of a source; they must be sound, and have only finite features if `finite`.
inline void expect_sound_graphs(const BlockSource& source, bool finite) {
  GraphBlock block;
  for (int64_t g = 0; g < source.graphs(); ++g) {
    source.read(std::span(&g, 1), block);
    const GraphSpans graph = block.spans();
    const int64_t nodes = block.nodes();
    expect(graph.graphs() == 1 && nodes >= 0, "one graph was read");
    expect(static_cast<int64_t>(graph.x.size()) == nodes * source.node_features() &&
               static_cast<int64_t>(graph.edges.size()) == 2 * block.edge_count() &&
               static_cast<int64_t>(graph.edge_attr.size()) == block.edge_count() * source.edge_features(),
           "a graph's columns agree");
    expect(graph.node_y.empty() || static_cast<int64_t>(graph.node_y.size()) == nodes,
           "all nodes have a class or none");
    for (const int32_t end : graph.edges) expect(end >= 0 && end < nodes, "an edge joins nodes of its graph");
    if (!finite) continue;
    for (const float value : graph.x) expect(std::isfinite(value), "node features are finite");
    for (const float value : graph.edge_attr) expect(std::isfinite(value), "edge features are finite");
  }
}

}  // namespace plimsoll
