#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "ingest/graph/graph.h"
#include "ingest/graph/graph_edges.h"
#include "store/shard_folders.h"

namespace plimsoll {

/// The kind of such a data set.
inline constexpr const char* kEdgeShard = "edge_shard";

/// Reads the edges of a shard into a data set (docs/formats/graph.md): sorted as the first
/// sort of a graph sorts them, and the IDs of their ends where these say which nodes there are. Nodes without
/// edges, their rows and splits are left to the merge. Errors: those of ingest_graph().
GraphIngestResult make_edge_shard(const GraphIngestOptions& options, const GraphProgress& progress,
                                  FileSystem& files);

/// All shards of one graph, mapped. Immutable.
class EdgeShards {
 public:
  /// Errors: InputError.
  explicit EdgeShards(const std::vector<ShardFolder>& shards);
  /// Compares all checksums, before anything is added from here; `progress` gets the bytes done. Errors:
  /// InputError.
  void check(const std::function<void(int64_t)>& progress) const;

  /// Of the whole graph, as the first shard has them.
  const GraphIngestOptions& options() const { return options_; }
  uint64_t ids_end() const { return ids_end_; }  ///< one more than the greatest ID; of numbers
  int64_t edges_read() const { return edges_read_; }
  int64_t bytes() const { return bytes_; }

  /// Adds all edges, in the order of the input.
  void add_edges(GraphEdges& edges) const;
  /// As gather_ends(), of all edges.
  void add_ends(ExternalSort* ids, UniqueTexts* texts) const;

 private:
  std::vector<DataSetView> sets_;
  GraphIngestOptions options_;
  std::vector<int64_t> stored_;  // edges of each shard
  uint64_t ids_end_ = 0;
  int64_t edges_read_ = 0;
  int64_t bytes_ = 0;
};

/// Whether the first sort of edges is their last: IDs are nodes for sure, and keep their order.
bool sorts_once(const GraphIngestOptions& options);

}  // namespace plimsoll
