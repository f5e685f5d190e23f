#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/neighbour/neighbour_choice.h"
#include "sample/typed/typed_topology.h"

namespace plimsoll {

/// A span of times, `first` .. `last`, both included.
struct TimeSpan {
  int64_t first;
  int64_t last;

  bool has(int64_t time) const { return first <= time && time <= last; }
};

/// Finds the edges of a list that are known in a span of times: edges whose time, if they have one, is within
/// the span, and whose source, if it has a time, is not later than its end. Lists are sorted by time, so
/// these edges are a range found by binary search. There can be gaps only if sources have times that differ
/// from the times of their edges. Thread-safe except for gaps(), which keeps scratch memory for one list.
class KnownEdges {
 public:
  /// The topology must outlive this object.
  explicit KnownEdges(const TypedTopology& topology) : topology_(topology) {}

  /// Returns the edges of `list`, the list of node `target`, whose times are within the span. Errors:
  /// InputError for a source that does not exist.
  EdgeRange within(size_t edge_type, int64_t target, EdgeRange list, TimeSpan span) const;
  /// Returns whether lists of this edge type may have gaps.
  bool may_have_gaps(size_t edge_type) const;
  /// Returns the edges of `list` whose source is later than `last`; valid until the next call. Call it only
  /// if may_have_gaps() is true. Errors: those of the topology; BudgetExceeded.
  NeighbourChoice::Without gaps(size_t edge_type, EdgeRange list, int64_t last);
  /// Checks that the time of each chosen edge is within its span, which is true if lists are sorted.
  /// edges[i], which leads from sources[i] and was chosen from a result of within(), has the span span_of(i).
  /// Errors: InputError.
  template <typename SpanOf>
  void require_known(size_t edge_type, std::span<const int64_t> edges, std::span<const int64_t> sources,
                     const SpanOf& span_of) const {
    const TypedEdges& type = topology_.edges()[edge_type];
    if (type.has_time == EdgeTime::own) return require_within(edge_type, edges, edges, type.time, span_of);
    if (type.has_time == EdgeTime::source)
      require_within(edge_type, edges, sources, topology_.nodes()[type.source].time, span_of);
  }

 private:
  static constexpr size_t kTimesAhead = 16;  // Distance of the prefetch of times.

  // Checks time[places[i]], the time of edges[i].
  template <typename SpanOf>
  static void require_within(size_t edge_type, std::span<const int64_t> edges,
                             std::span<const int64_t> places, std::span<const int64_t> time,
                             const SpanOf& span_of) {
    for (size_t i = 0; i < edges.size(); ++i) {
      if (i + kTimesAhead < edges.size())
        __builtin_prefetch(time.data() + static_cast<size_t>(places[i + kTimesAhead]));
      const int64_t found = time[static_cast<size_t>(places[i])];
      if (!span_of(i).has(found)) refuse(edge_type, edges[i], found, span_of(i));
    }
  }
  [[noreturn]] static void refuse(size_t edge_type, int64_t edge, int64_t time, TimeSpan span);

  const TypedTopology& topology_;
  Vector<int64_t, Tag::blocks> edges_;    // A part of a list.
  Vector<int64_t, Tag::blocks> sources_;  // The sources of these edges.
  Vector<EdgeRun, Tag::blocks> gaps_;
};

/// Returns the last edges of a list, as many as contain `count` edges outside `gaps`, or the whole list if it
/// has fewer. `gaps` are those of this list; those before the result are removed.
EdgeRange latest_edges(EdgeRange list, int64_t count, NeighbourChoice::Without& gaps);

}  // namespace plimsoll
