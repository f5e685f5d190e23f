#pragma once

#include <filesystem>
#include <optional>

#include "fuzz/data_sets.h"
#include "ingest/tu/tu.h"
#include "ingest/tu/tu_node_features.h"
#include "sample/block/graph_set_source.h"

namespace plimsoll {

/// Whether a source can be read and is small enough to be written: a few labels can make rows of any width.
inline bool is_small(const std::filesystem::path& path) {
  constexpr int64_t kMostNumbers = 1 << 20;
  bool small = false;
  succeeds([&] {
    const auto source = TuSource::open(path);
    const TuGraphs graphs = source->graphs();
    TuArcs arcs = source->arcs(graphs);
    const TuNodeTable table = TuNodeTable::scan(*source, graphs);
    const TuNodeFeatures features(TuOptions(), table, *source, graphs, arcs);
    std::vector<int64_t> attributes(static_cast<size_t>(arcs.attributes()));
    const TuFeatures edges(attributes, arcs.columns());
    small = features.width() * graphs.nodes() < kMostNumbers && edges.width() * 1024 < kMostNumbers;
  });
  return small;
}

/// The set that a source is ingested to; none where it is refused. It must be whole and sound.
inline std::optional<std::filesystem::path> ingest(const std::filesystem::path& path, const char* name,
                                                   const char* node_features = "auto",
                                                   const char* target = "graph") {
  const std::filesystem::path out = Scratch::folder() / name;
  std::filesystem::remove_all(out);
  TuResult result;
  const bool done = succeeds([&] {
    result = ingest_tu({.source = path, .out = out, .node_features = node_features, .target = target},
                       [](int64_t, int64_t) {});
  });
  expect(done == std::filesystem::exists(out), "a refusal leaves nothing");
  if (!done) return std::nullopt;
  expect(verify_data_set(out).empty(), "what is written is whole");
  const GraphSetSource source(out);
  expect_sound_graphs(source, true);
  expect(source.graphs() == result.graphs && source.node_features() == result.node_features &&
             source.edge_features() == result.edge_features,
         "the result tells what was written");
  return out;
}

inline Json columns_of(const std::filesystem::path& folder) {
  return read_manifest(folder)["columns"];
}

/// Edges as docs/tu.md has them: ascending, each once, no self-loops.
inline void expect_coalesced(const GraphSpans& graphs) {
  for (int64_t g = 0; g < graphs.graphs(); ++g)
    for (int64_t e = graphs.edge_ptr[static_cast<size_t>(g)]; e < graphs.edge_ptr[static_cast<size_t>(g) + 1];
         ++e) {
      const auto edge = [&](int64_t at) {
        return std::pair(graphs.edges[static_cast<size_t>(2 * at)],
                         graphs.edges[static_cast<size_t>(2 * at + 1)]);
      };
      expect(edge(e).first != edge(e).second, "there are no self-loops");
      expect(e == graphs.edge_ptr[static_cast<size_t>(g)] || edge(e - 1) < edge(e), "edges ascend");
    }
}

}  // namespace plimsoll
