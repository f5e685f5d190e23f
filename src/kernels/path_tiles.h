#pragma once

#include <cstdint>

namespace plimsoll {

/// Edges by source, without self-loops (ops/path_message.h).
struct PathGraph {
  int64_t nodes = 0;
  const int64_t* row_begin = nullptr;  ///< [nodes + 1]
  const int32_t* target = nullptr;
  bool self_paths = false;  ///< each node i has a path (i, i, i, i), in front of its others
};

/// Nodes in the rows of a table, which is filled from tile to tile until it is full: what is computed from a
/// node alone is computed once as long as it stays. Memory is the caller's.
struct NodeSlots {
  int64_t capacity = 0;
  int64_t used = 0;
  int32_t* node = nullptr;     ///< [capacity] of each slot
  int32_t* slot_of = nullptr;  ///< [nodes] of each node, -1: it has none

  void clear() {
    for (int64_t s = 0; s < used; ++s) slot_of[node[s]] = -1;
    used = 0;
  }
};

/// Paths i -> j -> k -> p that follow each other in the order of i, j, k and p, with what they share: their
/// distinct (i, j, k) and (i, j), in the same order. Arrays have `capacity` numbers, of the caller's.
struct PathTile {
  int64_t capacity = 0;
  int64_t paths = 0;
  int64_t triples = 0;
  int64_t edges = 0;
  int32_t* edge_source = nullptr;  ///< slot of i
  int32_t* edge_target = nullptr;  ///< slot of j
  int32_t* triple_edge = nullptr;
  int32_t* triple_node = nullptr;  ///< slot of k
  int32_t* path_triple = nullptr;
  int32_t* path_node = nullptr;    ///< slot of p
  int32_t* path_source = nullptr;  ///< i less the first node that the walk's window has
};

/// Enumerates all paths of different nodes, a tile at a time. It keeps nothing of a path.
class PathWalk {
 public:
  explicit PathWalk(const PathGraph& graph) : graph_(graph), next_{.source = 0} { enter(next_, 0); }

  /// The next paths, those of sources below first + count: as many as fit into the tile; none when there are
  /// no more. Returns false, and stays where it was, where slots have too little room for what they hold
  /// already: they are to be cleared. A tile for whose nodes slots are too few ends before.
  bool fill(int64_t first, int64_t count, PathTile& tile, NodeSlots& slots);

 private:
  // The next path to look at: edges by their place in `target`; -1 for k and p: from the first.
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

/// How many paths of different nodes begin at `source`. row_begin and target as above, targets rising.
int64_t count_paths(const PathGraph& graph, int64_t source);

}  // namespace plimsoll
