#include "sample/block/forest_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/interrupt.h"

namespace plimsoll {
namespace {

constexpr int32_t kNoParent = -1;
constexpr int32_t kUnreached = -2;

// Appends rows in a new order.
template <typename Values>
void append_rows(const Values& from, size_t width, std::span<const int32_t> order, Values& to) {
  if (from.empty()) return;
  for (const int32_t row : order) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(row) * width);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
}

template <typename Values>
void append_all(const Values& from, Values& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

bool ForestSource::Scratch::is_forest() {
  parent.assign(static_cast<size_t>(graph.nodes()), kNoParent);
  for (size_t e = 0; e < graph.edges.size(); e += 2) {
    const auto [low, high] = std::minmax(graph.edges[e], graph.edges[e + 1]);
    int32_t& found = parent[static_cast<size_t>(high)];
    if (low == high || found == low) continue;
    if (found != kNoParent) return false;
    found = low;
  }
  return true;
}

void ForestSource::Scratch::find_neighbours() {
  const auto nodes = static_cast<size_t>(graph.nodes());
  first.assign(nodes + 1, 0);
  const auto each_end = [&](const auto& visit) {
    for (size_t e = 0; e < graph.edges.size(); e += 2) {
      const auto a = static_cast<size_t>(graph.edges[e]), b = static_cast<size_t>(graph.edges[e + 1]);
      if (a == b) continue;
      visit(a, b);
      visit(b, a);
    }
  };
  each_end([&](size_t a, size_t) { ++first[a + 1]; });
  std::partial_sum(first.begin(), first.end(), first.begin());
  neighbour.resize(static_cast<size_t>(first[nodes]));
  count.assign(nodes, 0);
  each_end([&](size_t a, size_t b) {
    const auto slot = static_cast<size_t>(first[a]) + static_cast<size_t>(count[a]++);
    neighbour[slot] = static_cast<int32_t>(b);
  });
  for (size_t n = 0; n < nodes; ++n) {
    const auto begin = neighbour.begin() + first[n];
    std::sort(begin, begin + count[n]);
    count[n] = static_cast<int32_t>(std::unique(begin, begin + count[n]) - begin);
  }
}

void ForestSource::Scratch::search(int32_t root) {
  if (parent[static_cast<size_t>(root)] != kUnreached) return;
  parent[static_cast<size_t>(root)] = kNoParent;
  size_t at = order.size();
  order.push_back(root);
  for (; at < order.size(); ++at) {
    const auto n = static_cast<size_t>(order[at]);
    for (int32_t i = first[n]; i < first[n] + count[n]; ++i) {
      const int32_t next = neighbour[static_cast<size_t>(i)];
      if (parent[static_cast<size_t>(next)] != kUnreached) continue;
      parent[static_cast<size_t>(next)] = order[at];
      order.push_back(next);
    }
  }
}

void ForestSource::Scratch::grow(int64_t root) {
  const auto nodes = static_cast<size_t>(graph.nodes());
  find_neighbours();
  parent.assign(nodes, kUnreached);
  order.clear();
  order.reserve(nodes);
  if (root != kMaxNeighbours) search(static_cast<int32_t>(root));
  roots.resize(nodes);
  std::iota(roots.begin(), roots.end(), 0);
  std::sort(roots.begin(), roots.end(), [&](int32_t a, int32_t b) {
    const int32_t of_a = count[static_cast<size_t>(a)], of_b = count[static_cast<size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  });
  for (const int32_t n : roots) search(n);
  place.resize(nodes);
  for (size_t i = 0; i < nodes; ++i) place[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
}

bool ForestSource::Scratch::joins(size_t edge) const {
  const int32_t a = graph.edges[2 * edge], b = graph.edges[2 * edge + 1];
  return parent[static_cast<size_t>(a)] == b || parent[static_cast<size_t>(b)] == a;
}

void ForestSource::Scratch::append_to(GraphBlock& block) const {
  const auto nodes = static_cast<size_t>(graph.nodes());
  const auto edges = static_cast<size_t>(graph.edge_count());
  const size_t edge_width = edges == 0 ? 0 : graph.edge_attr.size() / edges;
  int64_t kept = 0;
  for (size_t e = 0; e < edges; ++e) {
    if (!joins(e)) continue;
    ++kept;
    for (const size_t end : {2 * e, 2 * e + 1})
      block.edges.push_back(place[static_cast<size_t>(graph.edges[end])]);
    const auto attr = std::span(graph.edge_attr).subspan(e * edge_width, edge_width);
    block.edge_attr.insert(block.edge_attr.end(), attr.begin(), attr.end());
  }
  if (nodes > 0) {
    append_rows(graph.x, graph.x.size() / nodes, order, block.x);
    append_rows(graph.pos, graph.pos.size() / nodes, order, block.pos);
    append_rows(graph.node_y, 1, order, block.node_y);
  }
  block.edge_ptr.push_back(block.edge_ptr.back() + kept);
}

ForestSource::ForestSource(std::unique_ptr<BlockSource> source, int64_t root)
    : source_(std::move(source)), root_(root) {
  for (int64_t g = 0; g < source_->graphs(); ++g) {
    throw_if_interrupted("graphs became forests");
    if (!change(g)) continue;
    ++counts_.graphs;
    for (size_t e = 0; e < static_cast<size_t>(scratch_.graph.edge_count()); ++e)
      counts_.edges_left_out += scratch_.joins(e) ? 0 : 1;
  }
  if (counts_.graphs == 0) scratch_ = {};
}

bool ForestSource::change(int64_t graph) const {
  source_->read(std::span(&graph, 1), scratch_.graph);
  if (root_ >= scratch_.graph.nodes())
    throw InputError(fmt::format(
        "graph {} has {} nodes and no node {}, which is the root; set pretraining.root to a node of "
        "every graph, or to -1, the "
        "node with most edges",
        graph, scratch_.graph.nodes(), root_));
  if (root_ <= 0 && scratch_.is_forest()) return false;
  scratch_.grow(root_);
  return true;
}

void ForestSource::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  if (counts_.graphs == 0) return source_->read(graphs, block);
  const MutexLock lock(mutex_);
  block.clear();
  for (const int64_t g : graphs) {
    const bool changed = change(g);
    const GraphBlock& graph = scratch_.graph;
    block.graph.push_back(g);
    block.node_ptr.push_back(block.node_ptr.back() + graph.nodes());
    append_all(graph.y, block.y);
    if (changed) {
      scratch_.append_to(block);
      continue;
    }
    block.edge_ptr.push_back(block.edge_ptr.back() + graph.edge_count());
    append_all(graph.edges, block.edges);
    append_all(graph.edge_attr, block.edge_attr);
    append_all(graph.x, block.x);
    append_all(graph.pos, block.pos);
    append_all(graph.node_y, block.node_y);
  }
}

}  // namespace plimsoll
