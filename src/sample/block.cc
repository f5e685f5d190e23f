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
    }
  });
  give_back_freed_memory();
  return shapes;
}

}  // namespace plimsoll
