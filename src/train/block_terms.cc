#include "train/block_terms.h"

#include <algorithm>

#include "ops/order_terms.h"

namespace plimsoll {
namespace {

int64_t most_in(const GraphShape& shape, const CollateOptions& options) {
  return options.self_loops ? shape.most_in : shape.most_in_without_loops;
}

}  // namespace

BlockTerms terms_of(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                    const CollateOptions& options) {
  BlockTerms terms;
  count_terms(graphs, shapes, options, terms);
  return terms;
}

void count_terms(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                 const CollateOptions& options, BlockTerms& block) {
  Terms& t = block.terms;
  std::ranges::fill(t, 0);
  OrderTerms order;
  for (const int64_t g : graphs) {
    const GraphShape& shape = shapes[static_cast<size_t>(g)];
    t[kNodes] += shape.nodes;
    t[kEdges] += shape.edges;
    t[kSelfLoops] += shape.self_loops;
    if (options.items == Items::labelled_nodes) t[kItems] += shape.labelled_nodes;
    if (options.items == Items::pairs) t[kItems] += shape.pairs;
    t[kMostIn] = std::max(t[kMostIn], most_in(shape, options));
    order.add(shape.nodes);
  }
  order.end();
  block.closed = order.closed() || t[kNodes] == 0;  // which runs through no operation of either kind
  t[kOne] = 1;
  t[kGraphs] = static_cast<int64_t>(graphs.size());
  t[kPieceRows] = order.piece_rows(t[kNodes]);
  t[kGroups] = order.groups(t[kNodes]);
  t[kSegmentGroups] = OrderTerms::segment_groups(t[kGraphs]);
}

void complete_corner(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                     const CollateOptions& options, bool closed, Terms& highest) {
  int64_t largest = 0;
  for (const int64_t g : graphs) {
    const GraphShape& shape = shapes[static_cast<size_t>(g)];
    highest[kMostIn] = std::max(highest[kMostIn], most_in(shape, options));
    largest = std::max<int64_t>(largest, shape.nodes);
  }
  const int64_t nodes = highest[kNodes];
  highest[kSegmentGroups] = OrderTerms::segment_groups(highest[kGraphs]);
  if (closed) {
    // A piece ends with the graph that brings it to its size.
    highest[kPieceRows] =
        std::min({nodes, OrderTerms::kPieceNodes - 1 + largest, OrderTerms::kMostPieceNodes});
    highest[kGroups] = OrderTerms::most_groups(nodes);
  } else {
    OrderTerms open;
    open.add(OrderTerms::kMostPieceNodes + 1);
    open.end();
    highest[kPieceRows] = open.piece_rows(nodes);
    highest[kGroups] = open.groups(nodes);
  }
}

}  // namespace plimsoll
