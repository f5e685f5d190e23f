#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "ingest/graph/edge_list.h"
#include "ingest/graph/node_table.h"
#include "io/file_system.h"
#include "store/graph.h"
#include "store/merge_shards.h"
#include "store/shard.h"

namespace plimsoll {

/// Input, options and output of ingest_graph(). docs/giant-graphs.md explains them.
struct GraphIngestOptions {
  EdgeListOptions edges = {};
  NodeTableOptions nodes = {};
  /// Files of IDs: text with one per line, or .npy.
  std::array<std::filesystem::path, kGraphSplits.size()> splits = {};
  int64_t node_count = -1;          ///< IDs are below it; -1: derived from the inputs.
  std::string ids = "auto";         ///< auto, dense (numbers 0 .. V-1), sparse (any numbers) or text.
  std::string direction = "in";     ///< Neighbours that a row holds: in or out.
  bool undirected = false;          ///< Add each edge in both directions.
  bool dedup = false;               ///< Keep only the first of edges with the same ends.
  std::string self_loops = "keep";  ///< keep, drop or add (one for each node that has none).
  /// dtype of x: auto (the narrowest that keeps every bit), f32, or rounded.
  std::string features_dtype = "auto";
  std::string order = "none";  ///< none (by ID), degree, or an order of node_keys().
  std::filesystem::path out = {};
  Shard shard = {};  ///< The part of the edge files to read; they are only sorted, for merge_graph().
  int threads = 1;
  bool force = false;  ///< Replace an existing output.
  /// Receives a sentence about input that is read in a way that its owner may not expect.
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

struct GraphIngestResult {
  bool already_there = false;  ///< The output already held these sources, so nothing was done.
  std::string ids;             ///< dense, sparse or text.
  int64_t nodes = 0;
  int64_t edges = 0;       ///< Number of stored edges.
  int64_t edges_read = 0;  ///< Number of input edges.
  int64_t node_features = 0;
  int64_t edge_features = 0;
  int64_t classes = 0;
  int64_t source_bytes = 0;
  int64_t comments = 0;  ///< Lines of edge files that were skipped as comments.
  int64_t headers = 0;   ///< Lines of edge files that were skipped as headers.
};

/// Receives the current activity and its progress: bytes read, edges written, ...
using GraphProgress = std::function<void(const char* what, int64_t done, int64_t total)>;

/// Reads a graph of any size into a `graph` data set, within the free memory of the ledger: edges and node
/// rows are sorted in runs on disk, next to the output. The same inputs and options give the same bytes,
/// whatever the memory and the number of threads. Errors: InputError (file, line and column), UsageError
/// (options), Failure (disk), BudgetExceeded; the output is then unchanged.
GraphIngestResult ingest_graph(const GraphIngestOptions& options, const GraphProgress& progress,
                               FileSystem& files = FileSystem::disk());

/// Merges the shards of one graph. The result equals that of ingest_graph() without --shard, byte for byte.
/// Node data is read now, from its original place; edge files are only read to locate a bad edge. Errors:
/// those of open_shards() and ingest_graph().
Merged merge_graph(const MergeRequest& request);

}  // namespace plimsoll
