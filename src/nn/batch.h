#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll {

/// A block of graphs as tensors, in PyG's terms one `Batch`. G graphs, N nodes, E stored edges of which L are
/// self-loops.
struct Batch {
  at::Tensor x;            ///< f32 [N, F]; may be a view of memory that must outlive the batch
  at::Tensor source;       ///< i64 [E - L + N]: stored edges without self-loops, then one self-loop a node
  at::Tensor target;       ///< i64 [E - L + N]
  at::Tensor node_graph;   ///< i64 [N]: the graph of each node within the block, 0 .. G-1
  at::Tensor graph_nodes;  ///< f32 [G, 1]: nodes of each graph, at least 1
  at::Tensor y;            ///< i64 [G]

  // Keys of random numbers (base/philox.h).
  at::Tensor node_item;    ///< i64 [N]: index of the node's graph in the data set
  at::Tensor node_local;   ///< i64 [N]: number of the node in its graph
  at::Tensor graph_item;   ///< i64 [G]
  at::Tensor graph_local;  ///< i64 [G]: zeros

  int64_t nodes() const { return x.size(0); }
  int64_t graphs() const { return y.size(0); }
};

}  // namespace plimsoll
