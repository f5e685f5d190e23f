#pragma once

#include "base/json.h"
#include "ingest/append/base_graph.h"
#include "ingest/graph/graph.h"

namespace plimsoll {

/// Makes a graph of the base's edges and nodes and of new ones (GraphIngestOptions::append). Its bytes are
/// those of one ingest of all files with the IDs' kind of the base, except for the provenance. Each column
/// that changes is read once, in order, and compared with its checksum; the others are shared by links. The
/// base does not change. Errors: those of ingest_graph().
GraphIngestResult append_graph(const GraphIngestOptions& options, const BaseGraph& base,
                               const EdgeList& edges, const Json& provenance, const GraphProgress& progress,
                               FileSystem& files);

}  // namespace plimsoll
