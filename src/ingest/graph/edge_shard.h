#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "ingest/graph/graph.h"
#include "ingest/graph/graph_edges.h"
#include "store/shard_folders.h"

namespace plimsoll {

/// Kind of a data set with the edges of a shard.
inline constexpr const char* kEdgeShard = "edge_shard";

/// Reads the edges of a shard into a data set (docs/formats/graph.md): sorted like the first sort of a graph,
/// with the IDs of their ends if these define the nodes. Nodes without edges, their rows and splits are left
/// to the merge. Errors: those of ingest_graph().
GraphIngestResult make_edge_shard(const GraphIngestOptions& options, const GraphProgress& progress,
                                  FileSystem& files);

/// All shards of one graph, mapped. Immutable.
class EdgeShards {
 public:
  /// Errors: InputError.
  explicit EdgeShards(const std::vector<ShardFolder>& shards);
  /// Compares all checksums; must be called before edges are added. `progress` gets the bytes done. Errors:
  /// InputError.
  void check(const std::function<void(int64_t)>& progress) const;

  /// Options of the whole graph, from the first shard.
  const GraphIngestOptions& options() const { return options_; }
  uint64_t ids_end() const { return ids_end_; }  ///< One more than the greatest ID, for numbers.
  int64_t edges_read() const { return edges_read_; }
  int64_t bytes() const { return bytes_; }

  /// Adds all edges, in the order of the input.
  void add_edges(GraphEdges& edges) const;
  /// Does the same as gather_ends() for all edges.
  void add_ends(ExternalSort* ids, UniqueTexts* texts) const;

 private:
  std::vector<DataSetView> sets_;
  GraphIngestOptions options_;
  std::vector<int64_t> stored_;  // Number of edges in each shard.
  uint64_t ids_end_ = 0;
  int64_t edges_read_ = 0;
  int64_t bytes_ = 0;
};

/// Returns whether the first sort of edges is the last one: IDs are known to be nodes and keep their order.
bool sorts_once(const GraphIngestOptions& options);

}  // namespace plimsoll
