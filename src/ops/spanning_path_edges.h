#pragma once

#include "ops/path_message.h"

namespace plimsoll {

/// Which random spanning tree of a graph.
struct SpanningKey {
  uint64_t seed = 0;
  uint32_t epoch = 0;
  uint32_t tree = 0;  ///< below 65536
};

/// The edges of a random spanning tree of each graph, of each of its parts where it is not connected, as
/// path_edges() makes them of all edges: the minimum spanning tree under random weights, walked both ways for
/// PathDirection::both (SGMP-st; Zhang and Zhao, "Representation Learning on Spatial Networks", NeurIPS
/// 2021). Paths of three edges are then few: of N nodes about N.
///
/// edge_index i64 [2, E]; node_keys i64 [3, N] as Batch has them: rows 0 and 1 are the graph's index and the
/// node's number in it. The weight of an edge is a function of seed, epoch, tree, graph and the numbers of
/// its two nodes (base/philox.h), so that the tree does not depend on the block, on the order of edges or on
/// which way they are stored. `target` has 2 N numbers, N of one direction, of which those up to row_begin[N]
/// are set. Errors: as path_edges(). Thread-safe.
PathEdges spanning_path_edges(const at::Tensor& edge_index, const at::Tensor& node_keys,
                              const SpanningKey& key, PathDirection direction);

}  // namespace plimsoll
