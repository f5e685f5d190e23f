#include "nn/tree_pairs.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/philox.h"
#include "ops/check.h"

namespace plimsoll {
namespace {

at::Tensor whole_numbers(const Batch& batch, int64_t rows) {
  return at::empty({rows, batch.nodes()}, batch.x.options().dtype(at::kLong));
}

// Sets the parent of each node to the source of the first edge that leads to it; -1 for a root.
void find_parents(const Batch& batch, int64_t* parent) {
  const int64_t nodes = batch.nodes();
  const int64_t edges = batch.edge_index.size(1);
  const auto* const source = batch.edge_index.const_data_ptr<int64_t>();
  std::fill_n(parent, nodes, -1);
  for (int64_t e = 0; e < edges; ++e) {
    const auto [low, high] = std::minmax(source[e], source[edges + e]);
    if (low != high && parent[high] < 0) parent[high] = low;
  }
}

/// The positions of nodes in a depth-first tour of their graph. The descendants of a node directly follow it.
struct Tour {
  int64_t *parent, *place, *node, *size, *depth, *next;

  explicit Tour(int64_t* rows, int64_t nodes)
      : parent(rows),
        place(rows + nodes),
        node(rows + 2 * nodes),
        size(rows + 3 * nodes),
        depth(rows + 4 * nodes),
        next(rows + 5 * nodes) {}
  static constexpr int64_t kRows = 6;

  // Computes the tour of one graph.
  void find(int64_t begin, int64_t end) {
    int64_t roots = begin;  // The position of the next root.
    for (int64_t n = begin; n < end; ++n) size[n] = 1;
    for (int64_t n = end; n-- > begin;)
      if (parent[n] >= 0) size[parent[n]] += size[n];
    for (int64_t n = begin; n < end; ++n) {
      int64_t& free = parent[n] >= 0 ? next[parent[n]] : roots;
      place[n] = free;
      free += size[n];
      next[n] = place[n] + 1;
      node[place[n]] = n;
      depth[n] = parent[n] >= 0 ? depth[parent[n]] + 1 : 0;
    }
  }

  // Returns the node with index `rank`, in the order of the tour, among the nodes that are neither ancestors
  // nor descendants of n.
  int64_t unrelated(int64_t n, int64_t begin, int64_t rank, int64_t* above) const {
    int64_t count = 0;
    for (int64_t a = parent[n]; a >= 0; a = parent[a]) above[count++] = place[a];
    int64_t at = begin + rank;
    while (count > 0 && above[count - 1] <= at) --count, ++at;
    if (at >= place[n]) at += size[n];
    return node[at];
  }
};

using Place = std::array<double, 3>;

Place step_between(const float* from, const float* to) {
  return {double{to[0]} - from[0], double{to[1]} - from[1], double{to[2]} - from[2]};
}

double length_of(const Place& step) {
  return std::hypot(step[0], step[1], step[2]);
}

// Returns the angle between two vectors; 0 if one has length 0.
double angle_of(const Place& a, const Place& b) {
  const double along = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const Place across{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  return std::atan2(length_of(across), along);
}

// The quantity that a histogram of a node counts: the distances to its children, the angles to its children,
// or the distance to its parent.
enum class Counted { children, angles, parent };

// Returns histograms over the edges between parents and children.
at::Tensor histograms(const Batch& batch, int64_t bins, double range, Counted counted) {
  if (batch.on_host != nullptr) return histograms(*batch.on_host, bins, range, counted).to(batch.x.device());
  const int64_t nodes = batch.nodes();
  const at::Tensor growth = at::empty({nodes, bins}, batch.x.options());
  const at::Tensor parents = whole_numbers(batch, 1);
  if (batch.x.is_meta()) return growth;
  require_on_host(batch.x, "histograms of trees");

  auto* const parent = parents.mutable_data_ptr<int64_t>();
  auto* const rows = growth.mutable_data_ptr<float>();
  const auto* const pos = batch.pos.const_data_ptr<float>();
  find_parents(batch, parent);
  std::fill_n(rows, nodes * bins, 0.0F);
  const double width = range / static_cast<double>(bins - 1);
  for (int64_t n = 0; n < nodes; ++n) {
    if (parent[n] < 0) continue;
    const Place step = step_between(pos + 3 * parent[n], pos + 3 * n);
    const int64_t above = parent[parent[n]];
    if (counted == Counted::angles && above < 0) continue;
    const double value = counted == Counted::angles
                             ? angle_of(step_between(pos + 3 * above, pos + 3 * parent[n]), step)
                             : std::min(length_of(step), range);
    float* const row = rows + (counted == Counted::parent ? n : parent[n]) * bins;
    for (int64_t m = 0; m < bins; ++m) {
      const double off = value / width - static_cast<double>(m);
      row[m] += static_cast<float>(std::exp(-off * off / 2));
    }
  }
  for (int64_t n = 0; n < nodes; ++n) {
    float* const row = rows + n * bins;
    double sum = 0;
    for (int64_t m = 0; m < bins; ++m) sum += row[m];
    double up_to = 0;
    for (int64_t m = 0; m < bins; ++m) row[m] = sum > 0 ? static_cast<float>((up_to += row[m]) / sum) : 0;
  }
  return growth;
}

}  // namespace

TreePairs tree_pairs(const Batch& batch, uint64_t seed, uint32_t epoch) {
  if (batch.on_host != nullptr) {
    const TreePairs here = tree_pairs(*batch.on_host, seed, epoch);
    const auto there = [&](const at::Tensor& tensor) { return tensor.to(batch.x.device()); };
    return {there(here.parent), there(here.other), there(here.has_other)};
  }
  const int64_t nodes = batch.nodes();
  TreePairs pairs{at::empty({nodes}, batch.x.options().dtype(at::kLong)),
                  at::empty({nodes}, batch.x.options().dtype(at::kLong)),
                  at::empty({nodes}, batch.x.options())};
  const at::Tensor rows = whole_numbers(batch, Tour::kRows + 1);
  if (batch.x.is_meta()) return pairs;
  require_on_host(batch.x, "pairs of trees");

  Tour tour(rows.mutable_data_ptr<int64_t>(), nodes);
  int64_t* const above = rows.mutable_data_ptr<int64_t>() + Tour::kRows * nodes;
  find_parents(batch, tour.parent);
  auto* const parent = pairs.parent.mutable_data_ptr<int64_t>();
  auto* const other = pairs.other.mutable_data_ptr<int64_t>();
  auto* const has_other = pairs.has_other.mutable_data_ptr<float>();
  const auto* const graph = batch.node_keys.const_data_ptr<int64_t>();
  const auto* const number = graph + nodes;
  const auto* const ptr = batch.graph_ptr.const_data_ptr<int64_t>();
  const Philox philox(seed);
  for (int64_t g = 0; g < batch.graphs(); ++g) {
    tour.find(ptr[g], ptr[g + 1]);
    for (int64_t n = ptr[g]; n < ptr[g + 1]; ++n) {
      parent[n] = tour.parent[n] >= 0 ? tour.parent[n] : n;
      const int64_t unrelated = ptr[g + 1] - ptr[g] - tour.size[n] - tour.depth[n];
      has_other[n] = unrelated > 0 ? 1 : 0;
      other[n] = n;
      if (unrelated == 0) continue;
      const Philox::Counter drawn =
          philox(philox_counter(Purpose::unrelated_nodes, 0, epoch, static_cast<uint32_t>(graph[n]),
                                static_cast<uint32_t>(number[n])));
      const auto rank = static_cast<int64_t>(uint64_t{drawn[0]} * static_cast<uint64_t>(unrelated) >> 32);
      other[n] = tour.unrelated(n, ptr[g], rank, above);
    }
  }
  return pairs;
}

at::Tensor growth_of(const Batch& batch, int64_t bins, double range) {
  return histograms(batch, bins, range, Counted::children);
}

at::Tensor angles_of(const Batch& batch, int64_t bins) {
  return histograms(batch, bins, std::numbers::pi, Counted::angles);
}

at::Tensor parent_edge_growth(const Batch& batch, int64_t bins, double range) {
  return histograms(batch, bins, range, Counted::parent);
}

}  // namespace plimsoll
