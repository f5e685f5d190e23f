#pragma once

#include <cstdint>

namespace plimsoll {

/// Edges by source, without self-loops (ops/path_message/path_message.h).
struct PathGraph {
  int64_t nodes = 0;
  const int64_t* row_begin = nullptr;  ///< [nodes + 1].
  const int32_t* target = nullptr;
  bool self_paths = false;  ///< Whether each node i has a path (i, i, i, i), before its other paths.
};

/// Maps nodes to the rows ("slots") of a table. Tiles add nodes to it until it is full. Results that depend
/// on one node are computed once for as long as the node has a slot. The caller owns the memory.
struct NodeSlots {
  int64_t capacity = 0;
  int64_t used = 0;
  int32_t* node = nullptr;     ///< [capacity] node of each slot.
  int32_t* slot_of = nullptr;  ///< [nodes] slot of each node, or -1.

  void clear() {
    for (int64_t s = 0; s < used; ++s) slot_of[node[s]] = -1;
    used = 0;
  }
};

/// Consecutive paths i -> j -> k -> p in the order of i, j, k and p, and their distinct triples (i, j, k) and
/// edges (i, j) in the same order. The caller owns the arrays, which have `capacity` entries.
struct PathTile {
  int64_t capacity = 0;
  int64_t paths = 0;
  int64_t triples = 0;
  int64_t edges = 0;
  int32_t* edge_source = nullptr;  ///< Slot of i.
  int32_t* edge_target = nullptr;  ///< Slot of j.
  int32_t* triple_edge = nullptr;
  int32_t* triple_node = nullptr;  ///< Slot of k.
  int32_t* path_triple = nullptr;
  int32_t* path_node = nullptr;    ///< Slot of p.
  int32_t* path_source = nullptr;  ///< i minus the first node of the walk's window.
};

/// Enumerates all paths whose nodes are distinct, and the paths (i, i, i, i) if the graph has them, one tile
/// at a time. It stores no paths.
class PathWalk {
 public:
  explicit PathWalk(const PathGraph& graph) : graph_(graph), next_{.source = 0} { enter(next_, 0); }

  /// Fills the tile with the next paths from sources below first + count: as many as fit, or none if no paths
  /// are left. If free slots run out, a tile that began with all slots free ends early. Otherwise this
  /// returns false with an empty tile and does not advance; the caller must then clear the slots and call
  /// again. There must be at least 4 slots.
  bool fill(int64_t first, int64_t count, PathTile& tile, NodeSlots& slots);

 private:
  // The next path to visit. Edges are indices into `target`; -1 for k or p stands for the first edge.
  struct Place {
    int64_t source = 0;
    bool self = false;
    int64_t j = 0, k = -1, p = -1;
  };
  void enter(Place& place, int64_t source) const {
    place = {.source = source,
             .self = graph_.self_paths,
             .j = source < graph_.nodes ? graph_.row_begin[source] : 0};
  }

  PathGraph graph_;
  Place next_;
};

/// Returns the number of paths that begin at `source` and whose nodes are distinct. The targets of each row
/// must be ascending.
int64_t count_paths(const PathGraph& graph, int64_t source);

}  // namespace plimsoll
