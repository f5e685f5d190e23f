#pragma once

#include <array>
#include <string>

#include "base/json.h"
#include "ingest/graph/graph.h"
#include "ingest/graph/graph_edges.h"

namespace plimsoll {

/// Words of `comments`, in the order of Comments.
inline constexpr std::array<const char*, 3> kCommentWords = {"leading", "all", "none"};
/// Errors: UsageError for another word.
Comments read_comments(const std::string& word);

/// Returns the options for the provenance of a graph: files by their names only.
Json graph_options_json(const GraphIngestOptions& options);

/// Returns the options that a shard stores for the merge: files by their absolute paths.
Json graph_inputs_json(const GraphIngestOptions& options);
/// Parses the result of graph_inputs_json(), without output, shard and threads. Errors: Json::exception,
/// UsageError (not understood).
GraphIngestOptions read_graph_inputs(const Json& inputs);

/// Returns the transformations of edges that these options ask for.
EdgeRules edge_rules(const GraphIngestOptions& options, const EdgeList& edges);

}  // namespace plimsoll
