#pragma once

#include <vector>

#include "can/detector/gat_network.h"

namespace plimsoll {

/// The nodes and edges that attention points at: how much of a graph's pooled output came from each node's
/// input, and how much passed through each edge. Uses attention rollout (Abnar and Zuidema, "Quantifying
/// Attention Flow in Transformers", ACL 2020): every node's output has the same weight; from the last layer
/// down, a node passes its share on to itself and its sources in proportion to its attention, averaged over
/// heads. With jumping knowledge the outputs of all layers have the same weight. A step from a node to itself
/// is part of the node's own share.
struct Focus {
  struct Share {
    int32_t index;  ///< Index of a node or of an edge.
    float share;    ///< Range 0 .. 1.
  };
  std::vector<Share> nodes;  ///< Greatest first. The shares of all nodes sum to 1.
  std::vector<Share> edges;  ///< Greatest first, without shares of 0; the mean over layers of the shares that
                             ///< passed through the edge.
};

/// The focus of the graph that the network scored last, which must be `graph`; at most `max` nodes and edges.
Focus focus_of(const GatNetwork& network, const GraphBlock& graph, size_t max);

}  // namespace plimsoll
