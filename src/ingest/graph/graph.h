#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "ingest/graph/edge_list.h"
#include "ingest/graph/graph_edges.h"
#include "ingest/graph/node_keys.h"
#include "ingest/graph/node_table.h"
#include "io/file_system.h"
#include "store/graph.h"
#include "store/merge_shards.h"
#include "store/shard.h"

namespace plimsoll {

/// The kind of the IDs of nodes: numbers 0 .. V-1, any numbers, or text. `automatic` determines it from the
/// input.
enum class NodeIds : uint8_t { automatic, dense, sparse, text };
template <>
inline constexpr auto kWords<NodeIds> = std::to_array<std::string_view>({"auto", "dense", "sparse", "text"});

/// Input, options and output of ingest_graph(). docs/giant-graphs.md explains them.
struct GraphIngestOptions {
  EdgeListOptions edges = {};
  NodeTableOptions nodes = {};
  /// Files of IDs: a text with one ID per line, or a .npy array.
  std::array<std::filesystem::path, kGraphSplits.size()> splits = {};
  int64_t node_count = -1;  ///< Number of nodes; all IDs are below it. -1: derived from the inputs.
  NodeIds ids = NodeIds::automatic;
  EdgeDirection direction = EdgeDirection::in;
  bool undirected = false;  ///< Add each edge in both directions.
  bool dedup = false;       ///< Keep only the first of all edges with the same ends.
  SelfLoops self_loops = SelfLoops::keep;
  /// Type in which x is stored: "auto" (the narrowest type that keeps every bit), "f32", or a type to which
  /// values are rounded.
  std::string features_dtype = "auto";
  NodeOrderKind order = NodeOrderKind::none;
  std::filesystem::path out = {};
  /// The graph to which edges and nodes are appended; empty: none. `edges`, `nodes` and `splits` then
  /// describe only the new edges and nodes, and the other options must be those of the graph
  /// (append_options()).
  std::filesystem::path append = {};
  /// The part of the edge files to read. A shard is only sorted; merge_graph() makes the graph.
  Shard shard = {};
  int threads = 1;     ///< Maximum number of threads that parse text.
  bool force = false;  ///< Replace an existing output.
  /// Called with a sentence about input that is read in a way that the user may not expect.
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

/// Counts of what was read or made. If `already_there`, `targets` and the counts of what was read may be 0.
struct GraphIngestResult {
  /// Whether the output had already been made from these sources, so that nothing was done.
  bool already_there = false;
  NodeIds ids = NodeIds::automatic;  ///< Kind of IDs; `automatic` only for a shard, for which the kind is not
                                     ///< determined.
  int64_t nodes = 0;
  int64_t edges = 0;       ///< Number of stored edges.
  int64_t edges_read = 0;  ///< Number of input edges.
  int64_t node_features = 0;
  int64_t edge_features = 0;
  int64_t classes = 0;
  int64_t targets = 0;  ///< Number of values to predict per node.
  int64_t source_bytes = 0;
  int64_t comments = 0;  ///< Lines of edge files that were skipped as comments.
  int64_t headers = 0;   ///< Lines of edge files that were skipped as headers.
};

/// Called with the current activity and its progress, such as bytes read or edges written; the total is 0 if
/// it is unknown. Called by one thread at a time, which need not be the caller's. It may throw to stop.
using GraphProgress = std::function<void(const char* what, int64_t done, int64_t total)>;

/// Reads a graph of any size into a `graph` data set, within the free memory of the ledger: edges and node
/// rows are sorted in runs on disk, next to the output. The same inputs and options give the same bytes,
/// whatever the memory and the number of threads. Errors: InputError (file, line and column), UsageError
/// (options), Failure (disk), BudgetExceeded, those of `progress`; the output is then unchanged.
GraphIngestResult ingest_graph(const GraphIngestOptions& options, const GraphProgress& progress,
                               FileSystem& files = FileSystem::disk());

/// Merges the shards of one graph. The result equals that of ingest_graph() without --shard, byte for byte.
/// Node data is read only by the merge, from its original files. Edge files must still exist: their first
/// lines are read, and all of them to locate an invalid edge. Errors: those of open_shards() and
/// ingest_graph().
Merged merge_graph(const MergeRequest& request);

}  // namespace plimsoll
