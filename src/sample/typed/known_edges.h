#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/neighbour/neighbour_choice.h"
#include "sample/typed/typed_topology.h"

namespace plimsoll {

/// The times first .. last, both included.
struct TimeSpan {
  int64_t first;
  int64_t last;

  bool has(int64_t time) const { return first <= time && time <= last; }
};

/// Finds the edges of a list that are known in a span of times: edges whose time, if they have one, is within
/// the span, and whose source, if it has a time, is not later than its end. Lists are sorted by time, so
/// these edges are a range found by binary search. Only where sources have times other than those of their
/// edges may there be gaps. Not thread-safe: it keeps scratch memory for the gaps of one list.
class KnownEdges {
 public:
  /// The topology must outlive this.
  explicit KnownEdges(const TypedTopology& topology) : topology_(topology) {}

  /// Returns the edges of `list`, the list of node `target`, whose times are within the span. Errors:
  /// InputError for a source that does not exist.
  EdgeRange within(size_t edge_type, int64_t target, EdgeRange list, TimeSpan span) const;
  /// Returns whether lists of this edge type may have gaps.
  bool may_have_gaps(size_t edge_type) const;
  /// Returns the edges of `list` whose source is later than `last`; valid until the next call. Errors: those
  /// of the topology.
  NeighbourChoice::Without gaps(size_t edge_type, EdgeRange list, int64_t last);
  /// Checks that these edges, which lead from `sources`, are within the span, as they are if lists are
  /// sorted. Errors: InputError.
  void require_known(size_t edge_type, int64_t edge, int64_t source, TimeSpan span) const;

 private:
  int64_t time_of(const TypedEdges& type, int64_t edge) const;

  const TypedTopology& topology_;
  Vector<int64_t, Tag::blocks> edges_;    // A part of a list.
  Vector<int64_t, Tag::blocks> sources_;  // The sources of these edges.
  Vector<EdgeRun, Tag::blocks> gaps_;
};

/// Returns the last `count` edges of a list, not counting those in `gaps`, and shortens `gaps` to those
/// within.
EdgeRange latest_edges(EdgeRange list, int64_t count, NeighbourChoice::Without& gaps);

}  // namespace plimsoll
