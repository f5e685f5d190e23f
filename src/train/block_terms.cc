#include "train/block_terms.h"

#include <algorithm>

namespace plimsoll {

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
  for (const int64_t g : graphs) {
    const GraphShape& shape = shapes[static_cast<size_t>(g)];
    t[kNodes] += shape.nodes;
    t[kEdges] += shape.edges;
    t[kSelfLoops] += shape.self_loops;
    if (options.node_labels) t[kItems] += shape.labelled_nodes;
  }
  t[kOne] = 1;
  t[kGraphs] = static_cast<int64_t>(graphs.size());
  t[kSegmentGroups] = std::max<int64_t>((t[kGraphs] + 63) / 64, 1);
  t[kPieceRows] = t[kNodes];
  t[kGroups] = 1;
}

void complete_corner(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                     const CollateOptions& options, Terms& highest) {
  highest[kSegmentGroups] = std::max<int64_t>((highest[kGraphs] + 63) / 64, 1);
  highest[kPieceRows] = highest[kNodes];
  highest[kGroups] = 16;
  highest[kMostIn] = highest[kEdges];
}

}  // namespace plimsoll
