#pragma once

#include <string>
#include <vector>

#include "sample/seeds/seed_blocks.h"
#include "store/graph.h"

namespace plimsoll {

/// Returns the nodes of each split of a graph with their labels. If `splits` is empty, no labels are needed.
/// Errors: InputError (no features or labels, a node that does not exist).
std::vector<SeedList> node_lists(const GraphView& graph, const std::vector<std::string>& splits);

/// Returns the edges of each split; the graph owns them. Errors: InputError (no features, or the edges are
/// not split).
std::vector<SeedList> edge_lists(const GraphView& graph, const std::vector<std::string>& splits);

}  // namespace plimsoll
