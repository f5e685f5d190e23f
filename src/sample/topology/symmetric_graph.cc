#include "sample/topology/symmetric_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/error.h"
#include "sample/topology/list_stream.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxNodes = int64_t{1} << 30;
constexpr int64_t kMaxEdges = int64_t{1} << 29;

template <typename Use>
void for_each_pair(const Topology& topology, const Use& use) {
  stream_lists(
      topology,
      [&](int64_t node, std::span<const int64_t> neighbours) {
        for (const int64_t neighbour : neighbours)
          if (neighbour != node) use(static_cast<size_t>(node), static_cast<size_t>(neighbour));
      },
      [](int64_t) {});
}

// The rows, each ascending. A neighbour occurs once per edge in either direction.
struct Entries {
  Vector<int64_t, Tag::columns> begin;
  Vector<int32_t, Tag::columns> neighbours;

  explicit Entries(const Topology& topology) : begin(static_cast<size_t>(topology.nodes()) + 1, 0) {
    for_each_pair(topology, [&](size_t node, size_t neighbour) {
      ++begin[node];
      ++begin[neighbour];
    });
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    neighbours.resize(static_cast<size_t>(begin.back()));
    // `begin` has the end of each row. Each row is filled backwards from its end, so that `begin` finally has
    // its start.
    for_each_pair(topology, [&](size_t node, size_t neighbour) {
      neighbours[static_cast<size_t>(--begin[node])] = static_cast<int32_t>(neighbour);
      neighbours[static_cast<size_t>(--begin[neighbour])] = static_cast<int32_t>(node);
    });
    for (size_t node = 0; node + 1 < begin.size(); ++node) std::sort(row(node).begin(), row(node).end());
  }

  std::span<int32_t> row(size_t node) {
    return std::span(neighbours)
        .subspan(static_cast<size_t>(begin[node]), static_cast<size_t>(begin[node + 1] - begin[node]));
  }
};

}  // namespace

SymmetricGraph symmetric_graph(const Topology& topology) {
  if (topology.nodes() > kMaxNodes || topology.edges() > kMaxEdges)
    throw UsageError(
        fmt::format("METIS: found a graph of {} nodes and {} edges, expected at most {} and {}; partition it "
                    "by streaming "
                    "instead",
                    topology.nodes(), topology.edges(), kMaxNodes, kMaxEdges));
  Entries entries(topology);
  const auto nodes = static_cast<size_t>(topology.nodes());
  SymmetricGraph graph;
  graph.row_ptr.assign(nodes + 1, 0);
  for (size_t node = 0; node < nodes; ++node) {
    int32_t different = 0;
    int32_t last = -1;
    for (const int32_t neighbour : entries.row(node)) {
      different += neighbour != last;
      last = neighbour;
    }
    graph.row_ptr[node + 1] = graph.row_ptr[node] + different;
  }
  const auto count = static_cast<size_t>(graph.row_ptr.back());
  graph.weights.assign(count, 0);
  // Works in place: the kept entries of a row never overwrite entries that have not been read yet.
  size_t kept = 0;
  for (size_t node = 0; node < nodes; ++node) {
    const size_t first = kept;
    for (const int32_t neighbour : entries.row(node)) {
      if (kept == first || entries.neighbours[kept - 1] != neighbour) entries.neighbours[kept++] = neighbour;
      ++graph.weights[kept - 1];
    }
  }
  graph.neighbours.assign(entries.neighbours.begin(),
                          entries.neighbours.begin() + static_cast<int64_t>(count));
  return graph;
}

}  // namespace plimsoll
