#pragma once

#include <cstdint>
#include <functional>

#include "ingest/append/inserted_nodes.h"
#include "ingest/graph/graph_edges.h"
#include "store/graph.h"

namespace plimsoll {

/// Merges sorted new edges into the lists of a graph and writes the lists, weights and features of edges. The
/// lists are read once, in order, and compared with their checksums. The ends of the edges in `added` are
/// nodes of the result; `rules` are the rules of `base` and of the new edges. `id_of` returns the ID of an
/// old node, for error texts; `progress` gets the number of edges that were read. The result has the bytes of
/// one sort of all edges, old ones first. Errors: InputError (a damaged column; with SelfLoops::add, a new
/// self-loop if the old one of its node may have been added), Failure (disk), BudgetExceeded, those of
/// `progress` and of scratch.tick().
void merge_lists(const GraphView& base, const GraphEdges& added, const InsertedNodes& nodes,
                 const EdgeRules& rules, const GraphScratch& scratch,
                 const std::function<std::string(int64_t)>& id_of,
                 const std::function<void(int64_t)>& progress, GraphWriter& writer);

}  // namespace plimsoll
