#pragma once

#include <vector>

#include "can/detector/gat_network.h"

namespace plimsoll {

/// What attention points at in a graph: how much of what is pooled came from each node's input, and through
/// each edge. Attention rollout (Abnar and Zuidema, "Quantifying Attention Flow in Transformers", ACL 2020):
/// every node's output counts the same; from the last layer down a node hands its share on to itself and its
/// sources as its attention, the mean over heads, says. With jumping knowledge all layers' outputs count the
/// same. A step from a node to itself is part of the node's own share.
struct Focus {
  struct Share {
    int32_t index;  ///< of a node, or of an edge
    float share;    ///< 0 .. 1
  };
  std::vector<Share> nodes;  ///< greatest first; shares of all nodes add up to 1
  std::vector<Share>
      edges;  ///< greatest first, without shares of 0; the mean over layers of what went through
};

/// Of the graph that the network scored last, which is `graph`; at most `most` nodes and edges.
Focus focus_of(const GatNetwork& network, const GraphBlock& graph, size_t max);

}  // namespace plimsoll
