#include "engine/blocks/block_terms.h"

#include <algorithm>

#include "engine/blocks/item_kind.h"
#include "engine/blocks/order_terms.h"

namespace plimsoll {
namespace {

int64_t max_in(const GraphShape& shape, const CollateOptions& options) {
  return options.self_loops ? shape.max_in : shape.max_in_without_loops;
}

// Orders of trimmed samples are never cut into pieces, so their terms are those of an order without closed
// pieces.
const OrderTerms kOpen;

bool trimmed(const BlockShapes& shapes, const CollateOptions& options) {
  return shapes.hops() > 0 && options.layers > 0;
}

// Raises the terms of prefixes in `t` to at least those of one graph.
void raise_prefixes(std::span<const GraphShape> prefixes, const CollateOptions& options, Terms& t) {
  for (size_t p = 0; p < prefixes.size(); ++p) {
    const GraphShape& shape = prefixes[p];
    const auto raise = [&](PrefixTerm term, int64_t value) {
      t[place_of(p, term)] = std::max(t[place_of(p, term)], value);
    };
    raise(kPrefixNodes, shape.nodes);
    raise(kPrefixEdges, shape.edges);
    raise(kPrefixSelfLoops, shape.self_loops);
    raise(kPrefixParts, kOpen.piece_rows(shape.nodes));
    raise(kPrefixChunks, kOpen.groups(shape.nodes));
    raise(kPrefixMaxIn, max_in(shape, options));
  }
}

// Counts a block of samples with types. All of its counts are terms, because operators of its models depend
// on nothing else.
void count_parts(std::span<const int64_t> graphs, const BlockShapes& shapes, BlockTerms& block) {
  const size_t counts = shapes.part_counts();
  Terms& t = block.terms;
  t.assign(kTerms + counts, 0);
  for (const int64_t g : graphs) {
    t[kNodes] += shapes.graphs[g].nodes;
    t[kEdges] += shapes.graphs[g].edges;
    const std::span<const int32_t> parts = shapes.parts_of(g);
    for (size_t i = 0; i < counts; ++i) t[kTerms + i] += parts[i];
  }
  t[kOne] = 1;
  t[kGraphs] = static_cast<int64_t>(graphs.size());
  t[kParts] = static_cast<int64_t>(counts);
  block.closed = true;  // All of these blocks run through the same operations.
}

// Each count is at most the number of graphs times its maximum in one graph.
void complete_parts(std::span<const int64_t> graphs, const BlockShapes& shapes, Terms& highest) {
  const size_t counts = shapes.part_counts();
  highest.resize(kTerms + counts, 0);
  highest[kParts] = static_cast<int64_t>(counts);
  for (const int64_t g : graphs) {
    const std::span<const int32_t> parts = shapes.parts_of(g);
    for (size_t i = 0; i < counts; ++i)
      highest[kTerms + i] = std::max(highest[kTerms + i], highest[kGraphs] * parts[i]);
  }
}

}  // namespace

BlockTerms terms_of(std::span<const int64_t> graphs, const BlockShapes& shapes,
                    const CollateOptions& options) {
  BlockTerms terms;
  count_terms(graphs, shapes, options, terms);
  return terms;
}

void count_terms(std::span<const int64_t> graphs, const BlockShapes& shapes, const CollateOptions& options,
                 BlockTerms& block) {
  if (shapes.part_counts() > 0) return count_parts(graphs, shapes, block);
  Terms& t = block.terms;
  const bool prefixes = trimmed(shapes, options);
  t.assign(prefixes ? place_of(shapes.hops(), kPrefixNodes) : size_t{kTerms}, 0);
  const ItemKind& kind = item_kind(options.items);
  OrderTerms order;
  for (const int64_t g : graphs) {
    const GraphShape& shape = shapes.graphs[g];
    t[kNodes] += shape.nodes;
    t[kEdges] += shape.edges;
    t[kSelfLoops] += shape.self_loops;
    if (kind.has_term()) t[kItems] += kind.count(shape);
    t[kMaxIn] = std::max(t[kMaxIn], max_in(shape, options));
    if (prefixes)
      raise_prefixes(shapes.prefixes_of(g), options, t);
    else
      order.add(shape.nodes);
  }
  order.end();
  block.closed =
      // An empty block runs no operation of either kind, so it counts as closed.
      order.closed() || (t[kNodes] == 0 && !prefixes);
  t[kOne] = 1;
  t[kGraphs] = static_cast<int64_t>(graphs.size());
  t[kPieceRows] = order.piece_rows(t[kNodes]);
  t[kGroups] = order.groups(t[kNodes]);
  t[kSegmentGroups] = OrderTerms::segment_groups(t[kGraphs]);
}

void complete_corner(std::span<const int64_t> graphs, const BlockShapes& shapes,
                     const CollateOptions& options, bool closed, Terms& highest) {
  if (shapes.part_counts() > 0) return complete_parts(graphs, shapes, highest);
  const bool prefixes = trimmed(shapes, options);
  if (prefixes) highest.resize(place_of(shapes.hops(), kPrefixNodes), 0);
  int64_t largest = 0;
  for (const int64_t g : graphs) {
    const GraphShape& shape = shapes.graphs[g];
    highest[kMaxIn] = std::max(highest[kMaxIn], max_in(shape, options));
    largest = std::max<int64_t>(largest, shape.nodes);
    if (prefixes) raise_prefixes(shapes.prefixes_of(g), options, highest);
  }
  const int64_t nodes = highest[kNodes];
  highest[kSegmentGroups] = OrderTerms::segment_groups(highest[kGraphs]);
  if (closed) {
    // A piece ends with the graph that makes it reach its size.
    highest[kPieceRows] =
        std::min({nodes, OrderTerms::kPieceNodes - 1 + largest, OrderTerms::kMaxPieceNodes});
    highest[kGroups] = OrderTerms::max_groups(nodes);
  } else {
    OrderTerms open;
    open.add(OrderTerms::kMaxPieceNodes + 1);
    open.end();
    highest[kPieceRows] = open.piece_rows(nodes);
    highest[kGroups] = open.groups(nodes);
  }
}

}  // namespace plimsoll
