#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/words.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// The origin of the time of an edge.
enum class EdgeTime : uint8_t {
  none,    ///< Edges have no time and are known from the start.
  source,  ///< The time of the source node.
  target,  ///< The time of the target node.
  own      ///< A separate column of times, one per edge.
};
template <>
inline constexpr auto kWords<EdgeTime> = std::to_array<std::string_view>({"none", "source", "target", "own"});

/// The nodes of one type. Times are whole numbers of any unit, the same for all types.
struct TypedNodes {
  int64_t nodes = 0;
  std::span<const int64_t> time = {};  ///< [nodes], or empty if all nodes are known from the start.
};

/// The edges of one type, as lists of sources for each target. Lists are sorted by the time of their edges.
struct TypedEdges {
  size_t source = 0;                    ///< Number of the source type.
  size_t target = 0;                    ///< Number of the target type.
  std::span<const int64_t> indptr;      ///< [nodes of the target type + 1]
  std::span<const uint32_t> indices;    ///< [edges] Source of each edge.
  std::span<const float> weights = {};  ///< [edges], or empty.
  EdgeTime has_time = EdgeTime::none;
  std::span<const int64_t> time = {};  ///< [edges] for EdgeTime::own, otherwise empty.
};

/// A graph with node types and edge types, and optionally times. Refers to its columns, which must outlive
/// it. Immutable, so any number of threads may read it.
class TypedTopology {
 public:
  /// Errors: InputError for columns whose lengths contradict each other, for an edge type between types that
  /// do not exist, with more than 2^32 sources, or that takes its times from nodes without times, and for
  /// more edge types than Draws has streams. The contents of columns are checked when they are read.
  TypedTopology(std::vector<TypedNodes> nodes, std::vector<TypedEdges> edges);

  const std::vector<TypedNodes>& nodes() const { return nodes_; }
  const std::vector<TypedEdges>& edges() const { return edges_; }
  /// Returns the lists of an edge type.
  const CsrTopology& lists(size_t edge_type) const { return lists_[edge_type]; }

 private:
  std::vector<TypedNodes> nodes_;
  std::vector<TypedEdges> edges_;
  std::vector<CsrTopology> lists_;  // One entry per edge type.
};

}  // namespace plimsoll
