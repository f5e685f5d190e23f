#pragma once

#include "ops/path_message/path_message.h"

namespace plimsoll {

/// Identifies a random spanning tree of a graph.
struct SpanningKey {
  uint64_t seed = 0;
  uint32_t epoch = 0;
  uint32_t tree = 0;  ///< Index of the tree, below 65536.
};

/// Creates the edges of a random spanning tree of each graph, or of a spanning forest if the graph is not
/// connected, in the same form as path_edges(). The tree is the minimum spanning tree under random weights,
/// with both directions of each edge for PathDirection::both (SGMP-st; Zhang and Zhao, "Representation
/// Learning on Spatial Networks", NeurIPS 2021). It has few paths of three edges: about N for N nodes.
///
/// edge_index is i64 [2, E]; node_keys is i64 [3, N] as in Batch: row 0 is the index of the graph, row 1 the
/// index of the node in its graph. The weight of an edge is a function of seed, epoch, tree, graph and the
/// indices of its two nodes (base/philox.h), so the tree does not depend on the block, on the order of edges
/// or on the direction in which they are stored. `target` has 2 N entries, or N for one direction; those
/// below row_begin[N] are set. Errors: InputError for a node out of range; UsageError for another shape, for
/// 2^30 nodes or more, 2^31 - 1 edges or more, or a tree of 65,536 or more. Thread-safe.
PathEdges spanning_path_edges(const at::Tensor& edge_index, const at::Tensor& node_keys,
                              const SpanningKey& key, PathDirection direction);

}  // namespace plimsoll
