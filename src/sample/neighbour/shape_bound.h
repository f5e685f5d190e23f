#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sample/block/graph_shapes.h"

namespace plimsoll {

/// Bounds the shapes of blocks that are drawn like those in `shapes`, entries `first`, `first + stride`, ...
/// The bound of each size is as far above the largest size as that size is above the mean. The largest of 256
/// sums over many seeds is about 2.8 standard deviations above the mean, so one block in 10^8 exceeds the
/// bound. No block has more than `max_nodes` nodes.
GraphShape bound_of(std::span<const GraphShape> shapes, size_t first, size_t stride, int64_t max_nodes);

/// Sets the shape that bounds the `later` graphs, and the shapes that bound their prefixes, from the shapes
/// of the graphs before later.first, of which there must be at least one. `shapes` has one entry per
/// BoundedGraphs::place_of(), and `prefixes` has the same number of entries for each of these.
void set_bounds(std::span<GraphShape> shapes, std::span<GraphShape> prefixes, const BoundedGraphs& later,
                int64_t max_nodes);

}  // namespace plimsoll
