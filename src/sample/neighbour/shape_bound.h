#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sample/block/graph_shapes.h"

namespace plimsoll {

/// Bounds the shapes of blocks that are drawn like those in `shapes`, of which each block has `stride`; those
/// of interest are at `first`, `first + stride`, ... Each size is as far above the largest as that is above
/// the mean: of 256 sums over many seeds the largest is about 2.8 standard deviations above the mean, so one
/// block in 10^8 is larger. No block has more than `max_nodes` nodes.
GraphShape bound_of(std::span<const GraphShape> shapes, size_t first, size_t stride, int64_t max_nodes);

/// Sets the shape that bounds the `later` graphs, and those of its prefixes, from the graphs before them.
/// `shapes` has one entry for each BoundedGraphs::place_of(), `prefixes` the same number for each of them.
void set_bounds(std::span<GraphShape> shapes, std::span<GraphShape> prefixes, const BoundedGraphs& later,
                int64_t max_nodes);

}  // namespace plimsoll
