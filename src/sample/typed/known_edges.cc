#include "sample/typed/known_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "sample/topology/damaged_topology.h"

namespace plimsoll {
namespace {

constexpr int64_t kTogether = 1024;  // Number of edges whose sources are read together.

// Returns the first of the edges first .. end-1 for which `is_past` is true; `end` if there is none.
template <typename IsPast>
int64_t first_past(int64_t first, int64_t end, const IsPast& is_past) {
  while (first < end) {
    const int64_t middle = first + (end - first) / 2;
    if (is_past(middle))
      end = middle;
    else
      first = middle + 1;
  }
  return first;
}

// Returns the edges within the span, of a list sorted by time; `time_of` returns the time of an edge.
template <typename TimeOf>
EdgeRange range_within(EdgeRange list, TimeSpan span, const TimeOf& time_of) {
  int64_t end = list.first + list.degree;
  // A short cut: most seeds know most lists completely.
  if (time_of(end - 1) > span.last)
    end = first_past(list.first, end - 1, [&](int64_t edge) { return time_of(edge) > span.last; });
  int64_t first = list.first;
  if (span.first != std::numeric_limits<int64_t>::min())
    first = first_past(first, end, [&](int64_t edge) { return time_of(edge) >= span.first; });
  return {first, end - first};
}

}  // namespace

EdgeRange KnownEdges::within(size_t edge_type, int64_t target, EdgeRange list, TimeSpan span) const {
  const TypedEdges& type = topology_.edges()[edge_type];
  if (type.has_time == EdgeTime::none || list.degree == 0) return list;
  if (type.has_time == EdgeTime::target) {
    const int64_t time = topology_.nodes()[type.target].time[static_cast<size_t>(target)];
    return span.has(time) ? list : EdgeRange{list.first, 0};
  }
  if (type.has_time == EdgeTime::own)
    return range_within(list, span, [&](int64_t edge) { return type.time[static_cast<size_t>(edge)]; });
  const TypedNodes& sources = topology_.nodes()[type.source];
  return range_within(list, span, [&](int64_t edge) {
    const auto source = static_cast<int64_t>(type.indices[static_cast<size_t>(edge)]);
    if (!is_below(source, sources.nodes))
      require_neighbours(std::span(&source, 1), std::span(&edge, 1), sources.nodes);
    return sources.time[static_cast<size_t>(source)];
  });
}

bool KnownEdges::may_have_gaps(size_t edge_type) const {
  const TypedEdges& type = topology_.edges()[edge_type];
  return type.has_time != EdgeTime::source && !topology_.nodes()[type.source].time.empty();
}

NeighbourChoice::Without KnownEdges::gaps(size_t edge_type, EdgeRange list, int64_t last) {
  const std::span<const int64_t> time = topology_.nodes()[topology_.edges()[edge_type].source].time;
  gaps_.clear();
  edges_.resize(kTogether);
  sources_.resize(kTogether);
  for (int64_t first = 0; first < list.degree; first += kTogether) {
    const auto count = static_cast<size_t>(std::min(kTogether, list.degree - first));
    const auto edges = std::span(edges_).first(count);
    std::iota(edges.begin(), edges.end(), list.first + first);
    topology_.lists(edge_type).read_neighbours(edges, std::span(sources_).first(count));
    for (size_t i = 0; i < count; ++i) {
      if (time[static_cast<size_t>(sources_[i])] <= last) continue;
      if (!gaps_.empty() && gaps_.back().end == edges[i])
        ++gaps_.back().end;
      else
        gaps_.push_back({edges[i], edges[i] + 1});
    }
  }
  return gaps_;
}

void KnownEdges::refuse(size_t edge_type, int64_t edge, int64_t time, TimeSpan span) {
  throw InputError(fmt::format(
      "edge type {}: found edge {} with time {} among edges with times {} to {}, expected lists sorted by "
      "time; `plimsoll verify` lists all damage",
      edge_type, edge, time, span.first, span.last));
}

EdgeRange latest_edges(EdgeRange list, int64_t count, NeighbourChoice::Without& gaps) {
  const int64_t list_end = list.first + list.degree;
  int64_t end = list_end;
  size_t kept = gaps.size();
  while (kept > 0 && end - gaps[kept - 1].end < count) {
    count -= end - gaps[kept - 1].end;
    end = gaps[--kept].begin;
  }
  gaps = gaps.subspan(kept);
  const int64_t first = std::max(list.first, end - count);
  return {first, list_end - first};
}

}  // namespace plimsoll
