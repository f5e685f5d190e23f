#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "ingest/graph/graph.h"
#include "ingest/graph/graph_edges.h"
#include "store/shard_folders.h"

namespace plimsoll {

/// The kind of data set that holds the edges of a shard.
inline constexpr const char* kEdgeShard = "edge_shard";

/// Reads the edges of a shard into a data set (docs/formats/graph.md). The edges are in the order of the
/// first sort of a graph. The IDs of their ends are stored if these define the nodes. Rows of nodes and
/// splits are not stored: merge_graph() reads them from their files. Errors: those of ingest_graph().
GraphIngestResult make_edge_shard(const GraphIngestOptions& options, const GraphProgress& progress,
                                  FileSystem& files);

/// All shards of one graph, mapped. Immutable.
class EdgeShards {
 public:
  /// Opens the data sets. Errors: InputError, Failure, BudgetExceeded.
  explicit EdgeShards(const std::vector<ShardFolder>& shards);
  /// Verifies the checksums of all columns; must be called before edges are added. `progress` gets the
  /// number of bytes done. Errors: InputError.
  void check(const std::function<void(int64_t)>& progress) const;

  /// Options of the whole graph, from the first shard.
  const GraphIngestOptions& options() const { return options_; }
  uint64_t ids_end() const { return ids_end_; }  ///< The greatest ID plus one, if IDs are numbers.
  int64_t edges_read() const { return edges_read_; }
  int64_t bytes() const { return bytes_; }  ///< Bytes of all columns.

  /// Adds all edges to `edges`, in the order of the input. They are read from the files of the shards, which
  /// must exist until `edges` have been sorted. Errors: InputError (not a shard), those of GraphEdges.
  void add_edges(GraphEdges& edges) const;
  /// Does the same as gather_ends() for all edges. Errors: InputError (damaged columns), Failure,
  /// BudgetExceeded.
  void add_ends(ExternalSort* ids, UniqueTexts* texts) const;

 private:
  std::vector<DataSetView> sets_;
  GraphIngestOptions options_;
  std::vector<int64_t> stored_;  // Number of edges in each shard.
  uint64_t ids_end_ = 0;
  int64_t edges_read_ = 0;
  int64_t bytes_ = 0;
};

/// Returns whether edges are sorted only once: IDs are known to be nodes, and nodes keep their order.
bool sorts_once(const GraphIngestOptions& options);

}  // namespace plimsoll
