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

/// What to ingest, how and where to. docs/giant-graphs.md says what the words mean.
struct GraphIngestOptions {
  EdgeListOptions edges = {};
  NodeTableOptions nodes = {};
  std::array<std::filesystem::path, kGraphSplits.size()> splits = {};  ///< IDs: text, one a line, or .npy
  int64_t node_count = -1;              ///< IDs are below it; -1: as the inputs say
  std::string ids = "auto";             ///< auto, dense (numbers 0 .. V-1), sparse (any numbers) or text
  std::string direction = "in";         ///< which neighbours a row holds: in or out
  bool undirected = false;              ///< each edge both ways
  bool dedup = false;                   ///< of edges with the same ends the first alone
  std::string self_loops = "keep";      ///< keep, drop or add (one for each node that has none)
  std::string features_dtype = "auto";  ///< of x: auto (the narrowest that keeps every bit), f32, or rounded
  std::string order = "none";           ///< none (by ID), degree, or those of node_keys()
  std::filesystem::path out = {};
  Shard shard = {};  ///< which of the files of edges: these alone, sorted, for merge_graph()
  int threads = 1;
  bool force = false;  ///< replace an existing output
};

struct GraphIngestResult {
  bool already_there = false;  ///< the output held just these sources: nothing was done
  std::string ids;             ///< dense, sparse or text
  int64_t nodes = 0;
  int64_t edges = 0;       ///< stored
  int64_t edges_read = 0;  ///< given
  int64_t node_features = 0;
  int64_t edge_features = 0;
  int64_t classes = 0;
  int64_t source_bytes = 0;
};

/// What it is at, and how far: bytes read, edges written, ...
using GraphProgress = std::function<void(const char* what, int64_t done, int64_t total)>;

/// Reads a graph, however large, into a `graph` data set, inside what the ledger has free: edges and rows of
/// nodes are sorted in runs on disk, beside the output. The same inputs and options give the same bytes,
/// whatever the memory and the threads. Errors: InputError (file, line and column), UsageError (options),
/// Failure (disk), BudgetExceeded; the output is then as it was.
GraphIngestResult ingest_graph(const GraphIngestOptions& options, const GraphProgress& progress,
                               FileSystem& files = FileSystem::disk());

/// Makes of the shards of one graph what ingest_graph() makes without --shard, byte for byte. What is known
/// of nodes is read now, from where it was; edges, to say where a bad one is. Errors: those of open_shards()
/// and ingest_graph().
Merged merge_graph(const MergeRequest& request);

}  // namespace plimsoll
