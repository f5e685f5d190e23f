#include "ops/path_message/spanning_path_edges.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/philox.h"
#include "memory/slab.h"
#include "ops/check.h"

namespace plimsoll {
namespace {

using Tensor = at::Tensor;

struct Candidate {
  uint64_t weight;
  int32_t low, high;  // The nodes of the edge.

  bool operator<(const Candidate& other) const {
    return std::tie(weight, low, high) < std::tie(other.weight, other.low, other.high);
  }
};

// Returns 64 bits that depend on the two nodes but not on their order.
uint64_t weight_of(const Philox& philox, const SpanningKey& key, uint32_t graph, uint32_t a, uint32_t b) {
  const auto [low, high] = std::minmax(a, b);
  const Philox::Counter of_low =
      philox(philox_counter(Purpose::spanning_trees, key.tree, key.epoch, graph, low));
  const Philox::Counter drawn =
      Philox(uint64_t{of_low[1]} << 32 | of_low[0])({high, of_low[2], of_low[3], 0});
  return uint64_t{drawn[1]} << 32 | drawn[0];
}

int32_t find_root(int32_t* parent, int32_t node) {
  while (parent[node] != node) {
    parent[node] = parent[parent[node]];
    node = parent[node];
  }
  return node;
}

// Kruskal's algorithm: moves the edges of the forest to the front. Returns their number.
int64_t keep_forest(Candidate* edges, int64_t count, int32_t* parent, int64_t nodes) {
  std::sort(edges, edges + count);
  for (int64_t n = 0; n < nodes; ++n) parent[n] = static_cast<int32_t>(n);
  int64_t kept = 0;
  for (int64_t e = 0; e < count; ++e) {
    const int32_t a = find_root(parent, edges[e].low);
    const int32_t b = find_root(parent, edges[e].high);
    if (a == b) continue;
    parent[std::max(a, b)] = std::min(a, b);
    edges[kept++] = edges[e];
  }
  return kept;
}

// The nodes of edges, and the keys of nodes, as plain memory.
struct KeyedEdges {
  int64_t nodes, edges;
  const int64_t *source, *target, *graph, *number;
};

// Writes all edges except self-loops, with their weights. Returns how many were written.
int64_t weigh_edges(const KeyedEdges& in, const SpanningKey& key, Candidate* candidate) {
  const Philox philox(key.seed);
  int64_t count = 0;
  for (int64_t e = 0; e < in.edges; ++e) {
    const auto [low, high] = std::minmax(in.source[e], in.target[e]);
    if (low < 0 || high >= in.nodes)
      throw InputError(fmt::format("spanning_path_edges: edge {} has nodes {} and {}, expected 0 to {}", e,
                                   in.source[e], in.target[e], in.nodes - 1));
    if (low == high) continue;
    candidate[count++] = {
        weight_of(philox, key, static_cast<uint32_t>(in.graph[low]), static_cast<uint32_t>(in.number[low]),
                  static_cast<uint32_t>(in.number[high])),
        static_cast<int32_t>(low), static_cast<int32_t>(high)};
  }
  return count;
}

// Writes the rows of the edges that paths use. Each tree edge is used in one or both directions. Edges are
// first counted and then placed from the end of each row.
void place_walks(const Candidate* candidate, int64_t kept, PathDirection direction, int64_t nodes,
                 int64_t* row_begin, int32_t* walked) {
  const auto over_walks = [&](const auto& work) {
    for (int64_t e = 0; e < kept; ++e) {
      if (direction != PathDirection::ancestor) work(candidate[e].low, candidate[e].high);
      if (direction != PathDirection::descendant) work(candidate[e].high, candidate[e].low);
    }
  };
  std::fill_n(row_begin, nodes + 1, 0);
  over_walks([&](int32_t from, int32_t) { ++row_begin[from]; });
  for (int64_t n = 1; n <= nodes; ++n) row_begin[n] += row_begin[n - 1];
  over_walks([&](int32_t from, int32_t to) { walked[--row_begin[from]] = to; });
  for (int64_t n = 0; n < nodes; ++n) std::sort(walked + row_begin[n], walked + row_begin[n + 1]);
}

}  // namespace

PathEdges spanning_path_edges(const Tensor& edge_index, const Tensor& node_keys, const SpanningKey& key,
                              PathDirection direction) {
  require(edge_index.scalar_type() == at::kLong && edge_index.dim() == 2 && edge_index.size(0) == 2,
          "edge_index i64 [2, E]", edge_index);
  require(node_keys.scalar_type() == at::kLong && node_keys.dim() == 2 && node_keys.size(0) >= 2,
          "node_keys i64 [3, N]", node_keys);
  require_on_host(edge_index, "paths");
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max() / 2;
  const int64_t nodes = node_keys.size(1);
  const int64_t edges = edge_index.size(1);
  if (nodes > kMax || edges > 2 * kMax || key.tree > 65535)
    throw UsageError(fmt::format(
        "spanning_path_edges: found {} nodes, {} edges and tree {}, expected up to 2^30 nodes, 2^31 "
        "edges and tree 65535",
        nodes, edges, key.tree));
  const bool both = direction == PathDirection::both;
  PathEdges made{at::empty({nodes + 1}, edge_index.options()),
                 at::empty({both ? 2 * nodes : nodes}, edge_index.options().dtype(at::kInt))};
  const WorkspaceScope workspace;
  const Tensor sources = edge_index.select(0, 0).contiguous();
  const Tensor targets = edge_index.select(0, 1).contiguous();
  const Tensor keys = node_keys.contiguous();
  const Tensor candidates =
      at::empty({edges, static_cast<int64_t>(sizeof(Candidate) / sizeof(int64_t))}, edge_index.options());
  const Tensor parents = at::empty({nodes}, edge_index.options().dtype(at::kInt));
  if (edge_index.is_meta()) return made;

  const auto* const graph = keys.const_data_ptr<int64_t>();
  auto* const candidate = static_cast<Candidate*>(candidates.mutable_data_ptr());
  const int64_t count = weigh_edges({nodes, edges, sources.const_data_ptr<int64_t>(),
                                     targets.const_data_ptr<int64_t>(), graph, graph + nodes},
                                    key, candidate);
  const int64_t kept = keep_forest(candidate, count, parents.mutable_data_ptr<int32_t>(), nodes);
  place_walks(candidate, kept, direction, nodes, made.row_begin.mutable_data_ptr<int64_t>(),
              made.target.mutable_data_ptr<int32_t>());
  return made;
}

}  // namespace plimsoll
