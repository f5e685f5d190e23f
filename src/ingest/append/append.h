#pragma once

#include "base/json.h"
#include "ingest/append/base_graph.h"
#include "ingest/graph/graph.h"

namespace plimsoll {

/// Makes a graph of the base's edges and nodes and of new ones (GraphIngestOptions::append). The columns have
/// the bytes of one ingest of all files, with IDs of the base's kind; only the provenance differs. A
/// column that changes is read in order and compared with its checksum, except the columns of IDs and
/// names of nodes, which are not compared. The other columns are shared by links. The base does not change.
/// `edges` are the new edges; `provenance` is the result of append_provenance(). Errors: those of
/// ingest_graph().
GraphIngestResult append_graph(const GraphIngestOptions& options, const BaseGraph& base,
                               const EdgeList& edges, const Json& provenance, const GraphProgress& progress,
                               FileSystem& files);

}  // namespace plimsoll
