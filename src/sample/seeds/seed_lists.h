#pragma once

#include <string>
#include <vector>

#include "sample/seeds/seed_blocks.h"
#include "store/graph.h"

namespace plimsoll {

/// The labels of nodes to predict: a class, numbers, or several labels that are 1 or 0 (multi).
enum class NodeLabels { classes, numbers, multi };

/// Returns the nodes of each split of a graph with their labels. `splits` has names from kGraphSplits. If
/// nodes have numbers or several labels, the label is 0 for a node with at least one known value, otherwise
/// -1. Without splits no labels are needed. Errors: InputError (no nodes or labels, a node that does not
/// exist, a label of more than 32 bits, those of has_known_target(), a split in which no node has a known
/// number or label).
std::vector<SeedList> node_lists(const GraphView& graph, const std::vector<std::string>& splits,
                                 NodeLabels labels);

/// Returns whether a node has a known number or label to predict. Errors: InputError (an infinite number, a
/// label that is neither 0 nor 1).
bool has_known_target(const GraphView& graph, int64_t node, NodeLabels labels);

/// Returns the edges of each split; the graph owns them. `splits` has names from kGraphSplits. Errors:
/// InputError (no nodes, edges that were not split).
std::vector<SeedList> edge_lists(const GraphView& graph, const std::vector<std::string>& splits);

}  // namespace plimsoll
