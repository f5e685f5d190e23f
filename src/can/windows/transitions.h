#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"

namespace plimsoll {

/// The edges of one window graph: its rows, each a step from one node to another, grouped by (source,
/// target). Keeps its memory from window to window. Not thread-safe.
class Transitions {
 public:
  struct Row {
    int32_t source;
    int32_t target;
  };
  struct Edge {
    int32_t source;
    int32_t target;
    int32_t first;     ///< Index of the first of its rows in the grouped positions.
    int32_t count;     ///< Number of rows.
    bool has_reverse;  ///< Whether (target, source) is an edge too; a self-loop is its own reverse.
  };

  /// The rows by position. Fill them before calling group().
  Vector<Row, Tag::blocks> rows;

  /// Makes the edges from the rows, whose nodes are 0 .. nodes-1.
  void group(size_t nodes);

  /// The distinct pairs, ascending by source, then target.
  std::span<const Edge> edges() const { return edges_; }
  /// The positions of an edge's rows, ascending.
  std::span<const int32_t> positions(const Edge& edge) const {
    return std::span(grouped_).subspan(static_cast<size_t>(edge.first), static_cast<size_t>(edge.count));
  }

 private:
  void find_reverses();

  Vector<int32_t, Tag::blocks> by_target_;  // Positions ordered by target.
  Vector<int32_t, Tag::blocks> grouped_;    // Positions ordered by source, then target.
  Vector<int32_t, Tag::blocks> next_;       // One place for each node, and one after the last.
  Vector<Edge, Tag::blocks> edges_;
};

}  // namespace plimsoll
