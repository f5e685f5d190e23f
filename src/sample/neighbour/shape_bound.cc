#include "sample/neighbour/shape_bound.h"

#include <algorithm>
#include <limits>

namespace plimsoll {
namespace {

constexpr int32_t GraphShape::*kSizes[] = {&GraphShape::nodes,
                                           &GraphShape::edges,
                                           &GraphShape::self_loops,
                                           &GraphShape::max_in,
                                           &GraphShape::max_in_without_loops,
                                           &GraphShape::label,
                                           &GraphShape::labelled_nodes,
                                           &GraphShape::highest_node_label,
                                           &GraphShape::pairs};

int32_t bound_of_size(std::span<const GraphShape> shapes, size_t first, size_t stride,
                      int32_t GraphShape::*size) {
  int64_t max = std::numeric_limits<int32_t>::min();
  int64_t sum = 0;
  int64_t count = 0;
  for (size_t at = first; at < shapes.size(); at += stride, ++count) {
    const int64_t value = shapes[at].*size;
    max = std::max(max, value);
    sum += value;
  }
  if (count == 0) return 0;
  return static_cast<int32_t>(std::min<int64_t>(2 * max - sum / count, std::numeric_limits<int32_t>::max()));
}

}  // namespace

GraphShape bound_of(std::span<const GraphShape> shapes, size_t first, size_t stride, int64_t max_nodes) {
  GraphShape bound;
  for (const auto size : kSizes) bound.*size = bound_of_size(shapes, first, stride, size);
  bound.nodes = static_cast<int32_t>(std::min<int64_t>(bound.nodes, max_nodes));
  return bound;
}

void set_bounds(std::span<GraphShape> shapes, std::span<GraphShape> prefixes, const BoundedGraphs& later,
                int64_t max_nodes) {
  const auto place = static_cast<size_t>(later.first);
  const size_t hops = prefixes.size() / shapes.size();
  shapes[place] = bound_of(shapes.first(place), 0, 1, max_nodes);
  for (size_t hop = 0; hop < hops; ++hop)
    prefixes[place * hops + hop] = bound_of(prefixes.first(place * hops), hop, hops, max_nodes);
}

}  // namespace plimsoll
