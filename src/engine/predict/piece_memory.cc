#include "engine/predict/piece_memory.h"

#include <algorithm>
#include <bit>

#include "io/row_reader.h"
#include "sample/topology/list_stream.h"

namespace plimsoll {

void PieceSize::raise_to(const PieceSize& other) {
  targets = std::max(targets, other.targets);
  edges = std::max(edges, other.edges);
  nodes = std::max(nodes, other.nodes);
  max_in = std::max(max_in, other.max_in);
}

PieceSize PieceSize::part(int64_t n) const {
  const auto share = [n](int64_t count) { return (count + n - 1) / n; };
  return {share(targets), share(edges), share(nodes), share(max_in)};
}

Piece Pieces::at(int64_t number) const {
  const int64_t begin = begins[static_cast<size_t>(number)];
  const auto same = std::equal_range(begins.begin(), begins.end() - 1, begin);
  const int64_t first = same.first - begins.begin();
  const int64_t chunks = same.second - same.first;
  if (chunks > 1) return {begin, begin + 1, number - first, chunks};
  return {begin, nodes_until(number)};
}

Pieces cut_pieces(const Topology& topology) {
  Pieces pieces;
  PieceSize piece;
  const auto end_piece = [&](int64_t end) {
    piece.targets = end - pieces.begins.back();
    piece.nodes = std::min(piece.targets + piece.edges, topology.nodes());
    pieces.largest.raise_to(piece);
    pieces.begins.push_back(end);
    pieces.edges.push_back(piece.edges);
    piece = {};
  };
  stream_ranges(topology, [&](int64_t node, std::span<const EdgeRange> lists) {
    for (const EdgeRange& list : lists) {
      const int64_t nodes = node - pieces.begins.back();
      if (nodes > 0 && (nodes == kPieceTargets || piece.edges + list.degree > kPieceEdges)) end_piece(node);
      const int64_t chunks = (list.degree + kPieceEdges - 1) / kPieceEdges;
      if (chunks > 1) {
        pieces.begins.insert(pieces.begins.end(), static_cast<size_t>(chunks) - 1, node);
        pieces.edges.insert(pieces.edges.end(), static_cast<size_t>(chunks) - 1, kPieceEdges);
      }
      piece.edges += std::min(list.degree, kPieceEdges);
      piece.max_in = std::max(piece.max_in, std::min(list.degree, kPieceEdges));
      ++node;
      if (chunks > 1) end_piece(node);
    }
  });
  if (pieces.begins.back() < topology.nodes()) end_piece(topology.nodes());
  return pieces;
}

void make_up_piece(const PieceSize& size, const RowWidths& widths, GraphBlock& block) {
  block.make_room({1, size.nodes, size.edges}, widths);
  block.clear();
  block.graph.push_back(0);
  block.node_ptr.push_back(size.nodes);
  block.edge_ptr.push_back(size.edges);
  block.y.push_back(0);
  block.prefixes.push_back({size.targets, size.edges});
  const int64_t others = std::max<int64_t>(size.targets - 1, 1);
  for (int64_t edge = 0; edge < size.edges; ++edge) {
    const int64_t rest = edge - size.max_in;
    const int64_t target = rest < 0 || size.targets == 1 ? 0 : 1 + rest * others / (size.edges - size.max_in);
    block.edges.push_back(static_cast<int32_t>((size.targets + edge) % size.nodes));
    block.edges.push_back(static_cast<int32_t>(target));
  }
  block.edge_attr.assign(static_cast<size_t>(size.edges * widths.edge_features), 0);
  block.x.assign(static_cast<size_t>(size.nodes * widths.node_features), 0);
}

int64_t graph_bytes_of(const PieceSize& size, const RowWidths& widths) {
  constexpr int64_t kNumber = sizeof(int64_t);
  // Columns of nodes grow as nodes are found, at most to twice their size; columns of edges are allocated at
  // once.
  const int64_t sample = kNumber * (4 * size.nodes + 3 * size.edges);
  const auto slots = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * size.nodes)));
  // While a table grows, two copies of it exist.
  const int64_t sampler = 4 * kNumber * size.targets + slots * int64_t{sizeof(uint32_t)} * 3 / 2;
  const int64_t reading = 3 * int64_t{sizeof(WantedRow)} * size.nodes;
  return sample + sampler + reading + GraphBlock::bytes_for({1, size.nodes, size.edges}, widths);
}

}  // namespace plimsoll
