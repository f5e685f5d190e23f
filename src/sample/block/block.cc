#include "sample/block/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/workers.h"
#include "memory/c_heap.h"
#include "sample/typed/sample_layout.h"

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
  pairs.clear();
  pair_y.clear();
  teacher.clear();
  targets.clear();
  pos.clear();
  prefixes.clear();
  row_place.clear();
  codes.clear();
  reached.clear();
  parts.clear();
}

namespace {

// Frees the old memory first: reserve() would keep it until the new memory is filled, but there is nothing to
// copy.
template <typename V>
void make_room_in(V& values, int64_t count) {
  if (values.capacity() < static_cast<size_t>(count)) V().swap(values);
  values.reserve(static_cast<size_t>(count));
}

// Does the same, and touches the pages.
template <typename V>
void fill_room_in(V& values, int64_t count) {
  make_room_in(values, count);
  values.assign(static_cast<size_t>(count), 0);
}

int64_t counts_of(const RowWidths& widths) {
  return widths.layout != nullptr ? static_cast<int64_t>(widths.layout->counts) : 0;
}

// Returns the maximum number of nodes of the type whose nodes are recommended.
int64_t reached_of(int64_t nodes, const RowWidths& widths) {
  return widths.layout != nullptr && widths.layout->destinations ? nodes : 0;
}

// Returns the nodes of a block, with padding.
int64_t nodes_of(const BlockSize& size, const RowWidths& widths) {
  return size.nodes + (widths.layout != nullptr ? widths.layout->padding() : 0);
}

int32_t as_int32(int64_t value, const char* what, int64_t graph) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
    throw InputError(fmt::format("graph {} has {} {}, more than is supported", graph, what, value));
  return static_cast<int32_t>(value);
}

// In-degrees, first with self-loops included. The memory is reused for the next graph.
using Degrees = Vector<int32_t, Tag::blocks>;

// Returns the shape of the g-th graph of a block.
GraphShape shape_of(const GraphBlock& block, size_t g, Degrees& degrees) {
  const int64_t graph = block.graph[g];
  GraphShape shape;
  shape.nodes = as_int32(block.node_ptr[g + 1] - block.node_ptr[g], "nodes:", graph);
  shape.edges = as_int32(block.edge_ptr[g + 1] - block.edge_ptr[g], "edges:", graph);
  make_room_in(degrees, 2 * int64_t{shape.nodes});
  degrees.assign(static_cast<size_t>(2 * int64_t{shape.nodes}), 0);
  for (int64_t e = block.edge_ptr[g]; e < block.edge_ptr[g + 1]; ++e) {
    const auto source = static_cast<uint32_t>(block.edges[static_cast<size_t>(2 * e)]);
    const auto target = static_cast<uint32_t>(block.edges[static_cast<size_t>(2 * e + 1)]);
    shape.self_loops += source == target;
    // Edges to nodes that do not exist are refused when the graph is used.
    if (target < static_cast<uint32_t>(shape.nodes))
      ++degrees[2 * size_t{target} + (source == target ? 0 : 1)];
  }
  for (size_t n = 0; n < degrees.size(); n += 2) {
    shape.max_in = std::max(shape.max_in, degrees[n] + degrees[n + 1]);
    shape.max_in_without_loops = std::max(shape.max_in_without_loops, degrees[n + 1]);
  }
  shape.label = as_int32(block.y[g], "the label", graph);
  if (block.node_y.empty()) return shape;
  for (int64_t n = block.node_ptr[g]; n < block.node_ptr[g + 1]; ++n) {
    const int32_t label = as_int32(block.node_y[static_cast<size_t>(n)], "a node with the label", graph);
    shape.labelled_nodes += label >= 0;
    shape.highest_node_label = std::max(shape.highest_node_label, label);
  }
  return shape;
}

}  // namespace

Vector<GraphShape, Tag::columns> shapes_of(const GraphBlock& block) {
  Vector<GraphShape, Tag::columns> shapes;
  Degrees degrees;
  for (size_t g = 0; g < block.graph.size(); ++g) shapes.push_back(shape_of(block, g, degrees));
  return shapes;
}

void GraphBlock::make_room(const BlockSize& size, const RowWidths& widths) {
  const int64_t nodes = nodes_of(size, widths);
  fill_room_in(graph, size.graphs);
  fill_room_in(node_ptr, size.graphs + 1);
  fill_room_in(edge_ptr, size.graphs + 1);
  fill_room_in(x, nodes * widths.node_features);
  fill_room_in(edges, 2 * size.edges);
  fill_room_in(edge_attr, size.edges * widths.edge_features);
  fill_room_in(y, size.graphs);
  fill_room_in(node_y, nodes);
  fill_room_in(pairs, 2 * size.pairs);
  fill_room_in(pair_y, size.pairs);
  fill_room_in(teacher, widths.teacher.numbers(size.graphs, nodes));
  fill_room_in(targets, widths.targets.numbers(size.graphs, nodes));
  fill_room_in(pos, widths.coordinates * nodes);
  fill_room_in(row_place, widths.row_places ? nodes : 0);
  fill_room_in(codes, widths.node_codes * nodes);
  fill_room_in(reached, reached_of(nodes, widths));
  fill_room_in(parts, counts_of(widths));
  prefixes.reserve(static_cast<size_t>(size.graphs * widths.hops));
  clear();
}

int64_t GraphBlock::bytes_for(const BlockSize& size, const RowWidths& widths) {
  const int64_t nodes = nodes_of(size, widths);
  return 8 * (4 * size.graphs + 2 + nodes + counts_of(widths) + reached_of(nodes, widths)) +
         static_cast<int64_t>(sizeof(Prefix)) * size.graphs * widths.hops +
         4 * (nodes * (widths.node_features + widths.coordinates + (widths.row_places ? 1 : 0) +
                       widths.node_codes) +
              size.edges * (2 + widths.edge_features) + 3 * size.pairs +
              widths.teacher.numbers(size.graphs, nodes) + widths.targets.numbers(size.graphs, nodes));
}

// Reads a few graphs at a time.
Vector<GraphShape, Tag::columns> BlockSource::shapes(int threads) const {
  constexpr int64_t kPiece = 32;
  constexpr int64_t kBytes = 256 * 1024;  // Approximate bytes per read, unless a single graph is larger.
  const int64_t graphs = this->graphs();
  Vector<GraphShape, Tag::columns> shapes(static_cast<size_t>(graphs));
  Workers workers(threads);
  std::vector<GraphBlock> blocks(static_cast<size_t>(threads));
  std::vector<Degrees> degrees(static_cast<size_t>(threads));
  workers.run_ordered((graphs + kPiece - 1) / kPiece, [&](int64_t piece, Turn& turn) {
    throw_if_interrupted("the shapes of graphs were read");
    const auto worker = static_cast<size_t>(turn.worker());
    GraphBlock& block = blocks[worker];
    const int64_t end = std::min((piece + 1) * kPiece, graphs);
    int64_t count = 1;
    for (int64_t first = piece * kPiece; first < end;) {
      std::array<int64_t, kPiece> indices{};
      count = std::min(count, end - first);
      std::iota(indices.begin(), indices.begin() + count, first);
      read(std::span(indices).first(static_cast<size_t>(count)), block);
      for (int64_t g = 0; g < count; ++g)
        shapes[static_cast<size_t>(first + g)] = shape_of(block, static_cast<size_t>(g), degrees[worker]);
      const int64_t bytes = GraphBlock::bytes_for({count, block.nodes(), block.edge_count()}, room());
      first += count;
      count = std::clamp<int64_t>(kBytes * count / std::max<int64_t>(bytes, 1), 1, kPiece);
    }
  });
  give_back_freed_memory();
  return shapes;
}

}  // namespace plimsoll
