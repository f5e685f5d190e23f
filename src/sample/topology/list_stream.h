#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

#include "memory/vector.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// Calls use(first, lists) for all nodes in order, up to 1,024 at a time; lists[i] is the list of node
/// first + i. Errors: those of the topology and of `use`.
template <typename Use>
void stream_ranges(const Topology& topology, const Use& use) {
  constexpr int64_t kNodes = 1024;
  Vector<int64_t, Tag::blocks> nodes(kNodes);
  Vector<EdgeRange, Tag::blocks> lists(kNodes);
  for (int64_t first = 0; first < topology.nodes(); first += kNodes) {
    const auto count = static_cast<size_t>(std::min(kNodes, topology.nodes() - first));
    std::iota(nodes.begin(), nodes.begin() + static_cast<int64_t>(count), first);
    topology.read_lists(std::span(nodes).first(count), lists);
    use(first, std::span<const EdgeRange>(lists).first(count));
  }
}

/// Calls use(node, neighbours) for all nodes in order. A list is passed in one or more parts, or none if it
/// is empty; done(node) is called after the last part. Reads a bounded number of lists and edges at a time.
/// Lists must be stored in the order of nodes. Errors: those of the topology and of the callbacks.
template <typename Use, typename Done>
void stream_lists(const Topology& topology, const Use& use, const Done& done) {
  constexpr int64_t kEdges = 4096;
  Vector<int64_t, Tag::blocks> edges(kEdges);
  Vector<int64_t, Tag::blocks> neighbours(kEdges);
  int64_t read_to = 0;  // `neighbours` has the sources of the edges read_from .. read_to-1.
  int64_t read_from = 0;
  stream_ranges(topology, [&](int64_t node, std::span<const EdgeRange> lists) {
    const int64_t end = lists.back().first + lists.back().degree;
    for (const EdgeRange& list : lists) {
      int64_t edge = list.first;
      const int64_t list_end = edge + list.degree;
      while (edge < list_end) {
        if (edge < read_from || edge >= read_to) {
          read_from = edge;
          read_to = std::min(edge + kEdges, end);
          const auto piece = static_cast<size_t>(read_to - read_from);
          std::iota(edges.begin(), edges.begin() + static_cast<int64_t>(piece), read_from);
          topology.read_neighbours(std::span(edges).first(piece), neighbours);
        }
        const int64_t piece_end = std::min(list_end, read_to);
        use(node, std::span<const int64_t>(neighbours)
                      .subspan(static_cast<size_t>(edge - read_from), static_cast<size_t>(piece_end - edge)));
        edge = piece_end;
      }
      done(node++);
    }
  });
}

}  // namespace plimsoll
