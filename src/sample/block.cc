#include "sample/block.h"

#include <algorithm>
#include <numeric>

#include "base/workers.h"
#include "memory/c_heap.h"

namespace plimsoll {

void GraphBlock::clear() {
  graph.clear();
  node_ptr.assign(1, 0);
  edge_ptr.assign(1, 0);
  x.clear();
  edges.clear();
  edge_attr.clear();
  y.clear();
  node_y.clear();
}

namespace {

// reserve() would hold the old memory until the new is filled; there is nothing to copy.
template <typename V>
void make_room_in(V& values, int64_t count) {
  if (values.capacity() < static_cast<size_t>(count)) V().swap(values);
  values.reserve(static_cast<size_t>(count));
}

}  // namespace

void GraphBlock::make_room(int64_t graph_count, int64_t nodes, int64_t edge_count, int64_t node_features,
                           int64_t edge_features) {
  make_room_in(graph, graph_count);
  make_room_in(node_ptr, graph_count + 1);
  make_room_in(edge_ptr, graph_count + 1);
  make_room_in(x, nodes * node_features);
  make_room_in(edges, 2 * edge_count);
  make_room_in(edge_attr, edge_count * edge_features);
  make_room_in(y, graph_count);
  if (!node_y.empty()) make_room_in(node_y, nodes);
  clear();
}

int64_t GraphBlock::bytes_for(int64_t graph_count, int64_t nodes, int64_t edge_count, int64_t node_features,
                              int64_t edge_features) {
  return 8 * (4 * graph_count + 2 + nodes) + 4 * (nodes * node_features + edge_count * (2 + edge_features));
}

Vector<GraphShape, Tag::columns> read_shapes(const BlockSource& source, int threads) {
  constexpr int64_t kPiece = 32;
  Vector<GraphShape, Tag::columns> shapes(static_cast<size_t>(source.graphs()));
  Workers workers(threads);
  workers.run_ordered((source.graphs() + kPiece - 1) / kPiece, [&](int64_t piece, Turn&) {
    std::vector<int64_t> wanted(static_cast<size_t>(std::min(kPiece, source.graphs() - piece * kPiece)));
    std::iota(wanted.begin(), wanted.end(), piece * kPiece);
    GraphBlock block;
    source.read(wanted, block);
    for (size_t g = 0; g < wanted.size(); ++g) {
      GraphShape& shape = shapes[static_cast<size_t>(wanted[g])];
      shape.nodes = static_cast<int32_t>(block.node_ptr[g + 1] - block.node_ptr[g]);
      shape.edges = static_cast<int32_t>(block.edge_ptr[g + 1] - block.edge_ptr[g]);
      shape.self_loops = 0;
      for (int64_t e = block.edge_ptr[g]; e < block.edge_ptr[g + 1]; ++e)
        shape.self_loops +=
            block.edges[static_cast<size_t>(2 * e)] == block.edges[static_cast<size_t>(2 * e + 1)];
      shape.label = static_cast<int32_t>(block.y[g]);
      if (block.node_y.empty()) continue;
      for (int64_t n = block.node_ptr[g]; n < block.node_ptr[g + 1]; ++n) {
        const auto label = static_cast<int32_t>(block.node_y[static_cast<size_t>(n)]);
        shape.labelled_nodes += label >= 0;
        shape.highest_node_label = std::max(shape.highest_node_label, label);
      }
    }
  });
  give_back_freed_memory();
  return shapes;
}

}  // namespace plimsoll
