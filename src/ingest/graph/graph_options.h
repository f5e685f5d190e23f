#pragma once

#include "base/json.h"
#include "ingest/graph/graph.h"
#include "ingest/graph/graph_edges.h"

namespace plimsoll {

/// Returns the options for the provenance of a graph. Files are given only by their names, except an array of
/// edge features, which is given by its path in the options.
Json graph_options_json(const GraphIngestOptions& options);

/// Returns the options that a shard stores for the merge. Files are given by their absolute paths.
Json graph_inputs_json(const GraphIngestOptions& options);
/// Parses the result of graph_inputs_json(), which does not contain output, shard and threads. Errors:
/// Json::exception, UsageError (not understood). Json::exception is not an Error.
GraphIngestOptions read_graph_inputs(const Json& inputs);

/// Returns the transformations of edges that these options request. `edges` is the list of options.edges.
EdgeRules edge_rules(const GraphIngestOptions& options, const EdgeList& edges);

}  // namespace plimsoll
