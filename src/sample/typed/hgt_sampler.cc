#include "sample/typed/hgt_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "sample/seeds/draws.h"
#include "sample/topology/damaged_topology.h"

namespace plimsoll {
namespace {

constexpr int64_t kEdgesTogether = 1024;  // Number of edges whose sources are read together.

}  // namespace

HgtSampler::HgtSampler(const TypedTopology& topology, std::vector<std::vector<int64_t>> counts, uint64_t seed)
    : topology_(topology),
      counts_(std::move(counts)),
      seed_(seed),
      tables_(topology.nodes().size()),
      candidates_(topology.nodes().size()) {
  if (counts_.size() != topology.nodes().size())
    throw UsageError(
        fmt::format("found numbers of nodes for {} types, expected one list for each of {} node types",
                    counts_.size(), topology.nodes().size()));
  for (const std::vector<int64_t>& hops : counts_) {
    if (hops.size() != counts_.front().size() || hops.size() * counts_.size() > Draws::kStreams)
      throw UsageError(
          fmt::format("found numbers of nodes for {} and {} hops, expected the same for all node types",
                      counts_.front().size(), hops.size()));
    for (const int64_t count : hops)
      if (count < 0) throw UsageError(fmt::format("found {} nodes to sample, expected 0 or more", count));
  }
}

void HgtSampler::sample(size_t type, std::span<const int64_t> seeds, uint32_t epoch, TypedSample& out) {
  begin(type, seeds, epoch, out);
  const size_t hops = counts_.empty() ? 0 : counts_.front().size();
  std::vector<size_t> first(out.nodes.size(), 0);
  for (size_t hop = 0; hop < hops; ++hop) {
    for (size_t edge_type = 0; edge_type < out.edges.size(); ++edge_type)
      add_candidates(edge_type, first[topology_.edges()[edge_type].target], out);
    for (size_t i = 0; i < out.nodes.size(); ++i) {
      first[i] = out.nodes[i].node.size();
      choose(i, hop);
      out.nodes[i].per_hop.push_back(static_cast<int64_t>(out.nodes[i].node.size() - first[i]));
    }
  }
  for (size_t edge_type = 0; edge_type < out.edges.size(); ++edge_type) {
    add_edges(edge_type, out);
    TypedSample::Edges& edges = out.edges[edge_type];
    edges.per_hop.assign(hops, 0);
    if (hops > 0) edges.per_hop.front() = static_cast<int64_t>(edges.edge.size());
  }
}

void HgtSampler::begin(size_t type, std::span<const int64_t> seeds, uint32_t epoch, TypedSample& out) {
  if (type >= tables_.size())
    throw UsageError(
        fmt::format("seeds: found node type {}, expected a number below {}", type, tables_.size()));
  require_nodes(seeds, topology_.nodes()[type].nodes);
  out.nodes.assign(tables_.size(), {});
  out.edges.assign(topology_.edges().size(), {});
  key_ = seed_;
  for (const int64_t seed : seeds) {
    key_ = item_key(key_, Purpose::neighbours, epoch, seed);
    out.nodes[type].node.push_back(seed);
    out.nodes[type].batch.push_back(0);
  }
  for (size_t i = 0; i < tables_.size(); ++i) {
    tables_[i].begin(out.nodes[i].node, out.nodes[i].batch, false);
    out.nodes[i].per_hop.push_back(static_cast<int64_t>(out.nodes[i].node.size()));
    Candidates& candidates = candidates_[i];
    candidates.node.clear();
    candidates.tree.clear();
    candidates.sum.clear();
    candidates.table.begin(candidates.node, candidates.tree, false);
  }
}

// Calls use(target, degree, edge, source) for the edges of these nodes; `target` is an index into `targets`.
template <typename Use>
void HgtSampler::each_edge(size_t edge_type, std::span<const int64_t> targets, const Use& use) {
  lists_.resize(targets.size());
  topology_.lists(edge_type).read_lists(targets, lists_);
  edges_.resize(kEdgesTogether);
  sources_.resize(kEdgesTogether);
  for (size_t target = 0; target < targets.size(); ++target)
    for (int64_t first = 0; first < lists_[target].degree; first += kEdgesTogether) {
      const auto count = static_cast<size_t>(std::min(kEdgesTogether, lists_[target].degree - first));
      const auto edges = std::span(edges_).first(count);
      std::iota(edges.begin(), edges.end(), lists_[target].first + first);
      topology_.lists(edge_type).read_neighbours(edges, std::span(sources_).first(count));
      for (size_t i = 0; i < count; ++i) use(target, lists_[target].degree, edges_[i], sources_[i]);
    }
}

// Adds the neighbours of the nodes from number `first` on to the candidates.
void HgtSampler::add_candidates(size_t edge_type, size_t first, const TypedSample& out) {
  const TypedEdges& type = topology_.edges()[edge_type];
  Candidates& candidates = candidates_[type.source];
  const auto targets = std::span(out.nodes[type.target].node).subspan(first);
  each_edge(edge_type, targets, [&](size_t, int64_t degree, int64_t, int64_t source) {
    if (tables_[type.source].find(source, 0) != NodeIdMap::kNone) return;
    const auto number = static_cast<size_t>(candidates.table.find_or_add(source, 0));
    if (number == candidates.sum.size()) candidates.sum.push_back(0);
    candidates.sum[number] += 1 / static_cast<double>(degree);
  });
}

// Adds the candidates with the smallest exponential keys to the sample (NeighbourChoice::weighted), in
// ascending order.
void HgtSampler::choose(size_t type, size_t hop) {
  Candidates& candidates = candidates_[type];
  drawn_.clear();
  for (size_t i = 0; i < candidates.sum.size(); ++i) {
    const double sum = candidates.sum[i];
    if (sum == 0) continue;
    Draws draws(key_, Purpose::neighbours, static_cast<uint64_t>(candidates.node[i]),
                static_cast<uint32_t>(hop * counts_.size() + type));
    drawn_.emplace_back(-std::log1p(-draws.uniform()) / (sum * sum), static_cast<int64_t>(i));
  }
  const auto count = std::min(drawn_.size(), static_cast<size_t>(counts_[type][hop]));
  const auto end = drawn_.begin() + static_cast<int64_t>(count);
  std::nth_element(drawn_.begin(), end, drawn_.end());
  const auto node_of = [&](const auto& drawn) { return candidates.node[static_cast<size_t>(drawn.second)]; };
  std::sort(drawn_.begin(), end, [&](const auto& a, const auto& b) { return node_of(a) < node_of(b); });
  for (auto drawn = drawn_.begin(); drawn != end; ++drawn) {
    tables_[type].find_or_add(node_of(*drawn), 0);
    candidates.sum[static_cast<size_t>(drawn->second)] = 0;
  }
}

void HgtSampler::add_edges(size_t edge_type, TypedSample& out) {
  const TypedEdges& type = topology_.edges()[edge_type];
  TypedSample::Edges& edges = out.edges[edge_type];
  each_edge(edge_type, out.nodes[type.target].node,
            [&](size_t target, int64_t, int64_t edge, int64_t source) {
              const int64_t number = tables_[type.source].find(source, 0);
              if (number == NodeIdMap::kNone) return;
              edges.row.push_back(number);
              edges.col.push_back(static_cast<int64_t>(target));
              edges.edge.push_back(edge);
            });
}

}  // namespace plimsoll
