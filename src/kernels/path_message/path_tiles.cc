#include "kernels/path_message/path_tiles.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// Returns the slot of a node. A node without a slot gets a new one. Returns -1 if no slot is free.
int32_t slot(NodeSlots& slots, int32_t node) {
  int32_t& at = slots.slot_of[node];
  if (at < 0 && slots.used < slots.capacity) {
    at = static_cast<int32_t>(slots.used);
    slots.node[slots.used++] = node;
  }
  return at;
}

/// Adds paths to a tile.
class TileBuilder {
 public:
  TileBuilder(PathTile& tile, NodeSlots& slots, int64_t first) : tile_(tile), slots_(slots), first_(first) {}

  void new_edge() { edge_ = -1; }
  void new_triple() { triple_ = -1; }
  bool full() const { return tile_.paths == tile_.capacity; }

  /// Returns false if there are too few free slots.
  bool add(int32_t i, int32_t j, int32_t k, int32_t p) {
    const int32_t end = slot(slots_, p);
    if (end < 0 || (triple_ < 0 && !add_triple(i, j, k))) return false;
    tile_.path_triple[tile_.paths] = triple_;
    tile_.path_node[tile_.paths] = end;
    tile_.path_source[tile_.paths++] = static_cast<int32_t>(i - first_);
    return true;
  }

 private:
  bool add_triple(int32_t i, int32_t j, int32_t k) {
    const int32_t middle = slot(slots_, k);
    if (middle < 0) return false;
    if (edge_ < 0) {
      const int32_t source = slot(slots_, i);
      const int32_t target = slot(slots_, j);
      if (source < 0 || target < 0) return false;
      edge_ = static_cast<int32_t>(tile_.edges++);
      tile_.edge_source[edge_] = source;
      tile_.edge_target[edge_] = target;
    }
    triple_ = static_cast<int32_t>(tile_.triples++);
    tile_.triple_edge[triple_] = edge_;
    tile_.triple_node[triple_] = middle;
    return true;
  }

  PathTile& tile_;
  NodeSlots& slots_;
  int64_t first_;
  int32_t edge_ = -1;
  int32_t triple_ = -1;
};

}  // namespace

bool PathWalk::fill(int64_t first, int64_t count, PathTile& tile, NodeSlots& slots) {
  tile.paths = tile.triples = tile.edges = 0;
  const Place before = next_;
  const bool held = slots.used > 0;
  const int64_t* const row = graph_.row_begin;
  const int32_t* const target = graph_.target;
  const int64_t end = std::min(first + count, graph_.nodes);
  TileBuilder to(tile, slots, first);
  // If there are too few slots, the caller clears the table and tries again; if it was empty, the tile has
  // fewer paths.
  const auto no_slots = [&] {
    if (!held) return true;
    next_ = before;
    tile.paths = tile.triples = tile.edges = 0;
    return false;
  };
  Place& at = next_;
  for (; at.source < end; enter(at, at.source + 1)) {
    const auto i = static_cast<int32_t>(at.source);
    if (at.self) {
      if (to.full()) return true;
      to.new_edge();
      to.new_triple();
      if (!to.add(i, i, i, i)) return no_slots();
      at.self = false;
    }
    for (; at.j < row[i + 1]; ++at.j, at.k = -1) {
      const int32_t j = target[at.j];
      to.new_edge();
      if (at.k < 0) at.k = row[j];
      for (; at.k < row[j + 1]; ++at.k, at.p = -1) {
        const int32_t k = target[at.k];
        if (k == i) continue;
        to.new_triple();
        if (at.p < 0) at.p = row[k];
        for (; at.p < row[k + 1]; ++at.p) {
          const int32_t p = target[at.p];
          if (p == i || p == j) continue;
          if (to.full()) return true;
          if (!to.add(i, j, k, p)) return no_slots();
        }
      }
    }
  }
  return true;
}

int64_t count_paths(const PathGraph& graph, int64_t source) {
  const int64_t* const row = graph.row_begin;
  const int32_t* const target = graph.target;
  const auto edges = [&](int32_t from, int64_t to) {  // Includes parallel edges.
    const auto [begin, end] = std::equal_range(target + row[from], target + row[from + 1], to);
    return static_cast<int64_t>(end - begin);
  };
  int64_t paths = 0;
  for (int64_t e = row[source]; e < row[source + 1]; ++e) {
    const int32_t j = target[e];
    for (int64_t f = row[j]; f < row[j + 1]; ++f) {
      const int32_t k = target[f];
      if (k != source) paths += row[k + 1] - row[k] - edges(k, source) - edges(k, j);
    }
  }
  return paths;
}

}  // namespace plimsoll
