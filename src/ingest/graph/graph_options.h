#pragma once

#include "base/json.h"
#include "ingest/graph/graph.h"
#include "ingest/graph/graph_edges.h"

namespace plimsoll {

/// What the provenance of a graph says of its options: files by their names alone.
Json graph_options_json(const GraphIngestOptions& options);

/// The options as a shard keeps them for the merge: files by their whole paths.
Json graph_inputs_json(const GraphIngestOptions& options);
/// And read again; without output, shard and threads. Errors: Json::exception, UsageError (not understood).
GraphIngestOptions read_graph_inputs(const Json& inputs);

/// What these options do with the edges of a list.
EdgeRules edge_rules(const GraphIngestOptions& options, const EdgeList& edges);

}  // namespace plimsoll
