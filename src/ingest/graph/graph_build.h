#pragma once

#include "base/json.h"
#include "ingest/graph/edge_shard.h"
#include "ingest/graph/graph.h"

namespace plimsoll {

/// Makes the graph from the edge list or, if `shards` is not null, from the shards of the list. `provenance`
/// is that of the output. Errors: those of ingest_graph().
GraphIngestResult build_graph(const GraphIngestOptions& options, const EdgeList& edges,
                              const EdgeShards* shards, const Json& provenance, const GraphProgress& progress,
                              FileSystem& files);

}  // namespace plimsoll
