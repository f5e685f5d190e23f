#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "kernels/path_message/path_tiles.h"
#include "memory/slab.h"
#include "ops/check.h"
#include "ops/path_message/path_message.h"

namespace plimsoll {
namespace {

using Tensor = at::Tensor;

constexpr int64_t kMax = std::numeric_limits<int32_t>::max();

// Orients an edge in the direction in which paths use it; returns false if they do not use it.
bool walk(PathDirection direction, int64_t& from, int64_t& to) {
  if (from == to) return false;
  if (direction != PathDirection::both && (from > to) == (direction == PathDirection::descendant))
    std::swap(from, to);
  return true;
}

// Sorts the targets of each row. If `once`, removes duplicates. Returns the number of remaining edges.
void sort_rows(int64_t nodes, bool once, int64_t* row_begin, int32_t* target) {
  int64_t kept = 0;
  for (int64_t n = 0; n < nodes; ++n) {
    int32_t* const begin = target + row_begin[n];
    int32_t* end = target + row_begin[n + 1];
    std::sort(begin, end);
    if (once) end = std::unique(begin, end);
    row_begin[n] = kept;
    std::copy(begin, end, target + kept);
    kept += end - begin;
  }
  row_begin[nodes] = kept;
}

// Throws InputError for graphs with too many paths. There are at most as many paths as walks of three edges.
// The number of walks over the middle edge j -> k is the number of edges into j times the number of edges out
// of k.
void refuse_too_many(int64_t nodes, const int64_t* row_begin, const int32_t* target, int64_t* in) {
  for (int64_t e = 0; e < row_begin[nodes]; ++e) ++in[target[e]];
  int64_t walks = 0;
  for (int64_t j = 0; j < nodes; ++j)
    for (int64_t e = row_begin[j]; e < row_begin[j + 1]; ++e) {
      const int64_t out = row_begin[target[e] + 1] - row_begin[target[e]];
      int64_t more;
      if (__builtin_mul_overflow(in[j], out, &more) || __builtin_add_overflow(walks, more, &walks))
        throw InputError(
            fmt::format("paths: {} edges have 2^63 or more walks of three edges, expected fewer; use fewer "
                        "neighbours per node, or spanning trees",
                        row_begin[nodes]));
    }
}

}  // namespace

PathEdges path_edges(const Tensor& edge_index, int64_t nodes, PathDirection direction) {
  require(edge_index.scalar_type() == at::kLong && edge_index.dim() == 2 && edge_index.size(0) == 2,
          "edge_index i64 [2, E]", edge_index);
  require_on_host(edge_index, "paths");
  const int64_t edges = edge_index.size(1);
  if (nodes < 0 || nodes > kMax || edges > kMax)
    throw UsageError(
        fmt::format("path_edges: found {} nodes and {} edges, expected 0 to 2^31 - 1 of each", nodes, edges));
  PathEdges made{at::empty({nodes + 1}, edge_index.options()),
                 at::empty({edges}, edge_index.options().dtype(at::kInt))};
  const WorkspaceScope workspace;
  const Tensor sources = edge_index.select(0, 0).contiguous();
  const Tensor targets = edge_index.select(0, 1).contiguous();
  const Tensor places = at::empty({nodes}, edge_index.options());
  if (edge_index.is_meta()) return made;

  const auto* const source = sources.const_data_ptr<int64_t>();
  const auto* const target = targets.const_data_ptr<int64_t>();
  auto* const row_begin = made.row_begin.mutable_data_ptr<int64_t>();
  auto* const place = places.mutable_data_ptr<int64_t>();
  auto* const walked = made.target.mutable_data_ptr<int32_t>();
  std::fill_n(row_begin, nodes + 1, 0);
  for (int64_t e = 0; e < edges; ++e) {
    for (const int64_t end : {source[e], target[e]})
      if (end < 0 || end >= nodes)
        throw InputError(
            fmt::format("path_edges: edge {} has node {}, expected one of 0 to {}", e, end, nodes - 1));
    int64_t from = source[e];
    int64_t to = target[e];
    if (walk(direction, from, to)) ++row_begin[from + 1];
  }
  for (int64_t n = 0; n < nodes; ++n) row_begin[n + 1] += row_begin[n];
  std::copy_n(row_begin, nodes, place);
  for (int64_t e = 0; e < edges; ++e) {
    int64_t from = source[e];
    int64_t to = target[e];
    if (walk(direction, from, to)) walked[place[from]++] = static_cast<int32_t>(to);
  }
  sort_rows(nodes, direction != PathDirection::both, row_begin, walked);
  std::fill_n(place, nodes, 0);
  refuse_too_many(nodes, row_begin, walked, place);
  return made;
}

Tensor path_counts(const PathEdges& edges) {
  const int64_t nodes = edges.row_begin.numel() - 1;
  check_path_edges(edges, nodes);
  Tensor counts = at::empty({nodes}, edges.row_begin.options());
  if (counts.is_meta()) return counts;
  const PathGraph graph{.nodes = nodes,
                        .row_begin = edges.row_begin.const_data_ptr<int64_t>(),
                        .target = edges.target.const_data_ptr<int32_t>()};
  auto* const count = counts.mutable_data_ptr<int64_t>();
  for (int64_t n = 0; n < nodes; ++n) count[n] = count_paths(graph, n);
  return counts;
}

void check_path_edges(const PathEdges& edges, int64_t nodes) {
  const auto& [row_begin, target] = edges;
  require(row_begin.scalar_type() == at::kLong && row_begin.dim() == 1 && row_begin.is_contiguous() &&
              nodes >= 0 && row_begin.size(0) == nodes + 1,
          "row_begin i64 [N + 1] of path_edges", row_begin);
  require(target.scalar_type() == at::kInt && target.dim() == 1 && target.is_contiguous() &&
              target.device() == row_begin.device(),
          "target i32 [E] of path_edges", target);
  if (row_begin.is_meta()) return;
  const auto* const row = row_begin.const_data_ptr<int64_t>();
  const auto* const to = target.const_data_ptr<int32_t>();
  bool right = row[0] == 0 && row[nodes] <= target.numel();
  for (int64_t n = 0; right && n < nodes; ++n) {
    right = row[n] <= row[n + 1] && row[n + 1] <= target.numel();
    for (int64_t e = row[n]; right && e < row[n + 1]; ++e)
      right = to[e] >= 0 && to[e] < nodes && to[e] != n && (e == row[n] || to[e - 1] <= to[e]);
  }
  if (!right)
    throw InputError("path_message: row_begin and target are not those that path_edges makes of edge_index");
}

}  // namespace plimsoll
