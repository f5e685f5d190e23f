#pragma once

#include "nn/batch.h"

namespace plimsoll {

/// The nodes with which pretraining on trees compares each node.
struct TreePairs {
  at::Tensor parent;     ///< i64 [N]; the parent of a root is the root itself.
  at::Tensor other;      ///< i64 [N]: a node of the same graph that is neither a descendant nor an ancestor.
  at::Tensor has_other;  ///< f32 [N]: 1 if there is such a node, otherwise 0; `other` is then the node
                         ///< itself.
};

/// Finds the pairs of a block of trees. Parents must have lower indices than their children. Each edge may be
/// stored in one direction or in both (sample/block/forest_source.h). `other` is drawn uniformly, keyed by
/// (seed, epoch, index of the graph, index of the node). Thread-safe.
TreePairs tree_pairs(const Batch& batch, uint64_t seed, uint32_t epoch);

/// Returns f32 [N, bins]: for each node, the histogram of the distances to its children, e_m = sum over
/// children of exp(-(d - mu_m)^2 / (2 D^2)) with mu_m = m D and D = range / (bins - 1), divided by its sum
/// and accumulated from bin 0 on. A row ends in 1, or is 0 for a node without children. A distance above
/// `range` counts as `range` (GT-SSL, arXiv 2408.08799, section 4.3).
at::Tensor growth_of(const Batch& batch, int64_t bins, double range);

/// Returns f32 [N, bins]: for each node, the accumulated histogram of the angles, 0 .. pi, between the edge
/// from its parent and the edges to its children. The angle is 0 if one of the two edges has no length. A row
/// is 0 for a node without children or without a parent.
at::Tensor angles_of(const Batch& batch, int64_t bins);

/// Returns f32 [N, bins]: for each node with a parent, the accumulated histogram of the distance to its
/// parent. This is what growth_of() would return if each child were as far away as the parent.
at::Tensor parent_edge_growth(const Batch& batch, int64_t bins, double range);

}  // namespace plimsoll
