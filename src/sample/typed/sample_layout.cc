#include "sample/typed/sample_layout.h"

#include <optional>

namespace plimsoll {
namespace {

// The first hop that reaches each node type, and the first hop that samples each edge type.
struct FirstHops {
  std::vector<std::optional<size_t>> nodes;
  std::vector<std::optional<size_t>> edges;
};

// Follows the types that each hop can reach, whether or not a sample has such nodes.
FirstHops first_hops(const TypedTopology& topology, size_t seed_type, size_t hops) {
  FirstHops first{std::vector<std::optional<size_t>>(topology.nodes().size()),
                  std::vector<std::optional<size_t>>(topology.edges().size())};
  first.nodes[seed_type] = 0;
  std::vector<bool> expanded(topology.nodes().size(), false);
  expanded[seed_type] = true;
  for (size_t hop = 1; hop <= hops; ++hop) {
    std::vector<bool> reached(expanded.size(), false);
    for (size_t e = 0; e < topology.edges().size(); ++e) {
      const TypedEdges& type = topology.edges()[e];
      if (!expanded[type.target]) continue;
      if (!first.edges[e]) first.edges[e] = hop;
      if (!first.nodes[type.source]) first.nodes[type.source] = hop;
      reached[type.source] = true;
    }
    expanded = reached;
  }
  return first;
}

}  // namespace

SampleLayout layout_of_samples(const TypedTopology& topology, size_t seed_type, size_t hops) {
  const FirstHops first = first_hops(topology, seed_type, hops);
  SampleLayout layout{.hops = hops};
  const auto counts_from = [&](size_t hop) {
    const size_t begin = layout.counts;
    layout.counts += hops + 1 - hop;
    return begin;
  };
  std::vector<size_t> place(topology.nodes().size());
  for (size_t type = 0; type < place.size(); ++type) {
    if (!first.nodes[type]) continue;
    place[type] = layout.nodes.size();
    layout.nodes.push_back({type, *first.nodes[type], counts_from(*first.nodes[type])});
  }
  for (size_t type = 0; type < topology.edges().size(); ++type) {
    if (!first.edges[type]) continue;
    const TypedEdges& edges = topology.edges()[type];
    layout.edges.push_back({type, place[edges.source], place[edges.target], *first.edges[type],
                            counts_from(*first.edges[type])});
  }
  layout.seeds = place[seed_type];
  return layout;
}

}  // namespace plimsoll
