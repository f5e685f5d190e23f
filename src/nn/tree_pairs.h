#pragma once

#include "nn/batch.h"

namespace plimsoll {

/// What pretraining on trees compares each node with.
struct TreePairs {
  at::Tensor parent;     ///< i64 [N]; of a root itself
  at::Tensor other;      ///< i64 [N]: a node of the same graph that neither descends from it nor is above it
  at::Tensor has_other;  ///< f32 [N]: 1, or 0 where there is no such node; `other` is the node itself then
};

/// Of a block of trees whose parents have lower numbers than their children; each edge may be stored in one
/// direction or both (sample/block/forest_source.h). `other` is drawn, all such nodes alike, by (seed, epoch,
/// index of the graph, number of the node). Thread-safe.
TreePairs tree_pairs(const Batch& batch, uint64_t seed, uint32_t epoch);

/// f32 [N, bins]: of each node the histogram of the distances to its children, e_m = sum over children of
/// exp(-(d - mu_m)^2 / (2 D^2)) with mu_m = m D and D = range / (bins - 1), divided by its sum and added up
/// from bin 0 on: a row ends in 1, or is 0 where a node has no children. Distances above `range` count as it
/// (GT-SSL, arXiv 2408.08799, section 4.3).
at::Tensor growth_of(const Batch& batch, int64_t bins, double range);

/// f32 [N, bins]: likewise of the angles, 0 .. pi, by which the edges to a node's children turn away from the
/// one that leads to it; 0 where one of both has no length. A row is 0 where a node has no children, or no
/// parent.
at::Tensor angles_of(const Batch& batch, int64_t bins);

/// Likewise of each node that is no root the histogram of the distance to its parent: what growth_of() would
/// be if children were as far as the parent is.
at::Tensor parent_edge_growth(const Batch& batch, int64_t bins, double range);

}  // namespace plimsoll
