#include "kernels/edge_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace plimsoll {
namespace {

// Indices of the counts in front of the arrays.
enum Head : int64_t {
  kMark,
  kSources,
  kTargets,
  kEdges,
  kKept = kOrderKept,
  kMaxIn = kOrderMaxIn,
  kPieces,
  kClosed,
  kHeadSize = kOrderHead
};
constexpr int32_t kOrderMark = 0x504C4F31;

void check_counts(int64_t edges, int64_t sources, int64_t targets) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max() - 1;
  if (std::max({edges, sources, targets}) > kMax)
    throw UsageError(fmt::format("{} edges between {} and {} nodes: attention counts up to 2^31 - 2 of each",
                                 edges, sources, targets));
}

void check_ends(const int64_t* source, const int64_t* target, int64_t edges, int64_t sources,
                int64_t targets) {
  for (int64_t e = 0; e < edges; ++e) {
    // The comparison is unsigned, so a negative index counts as a large one.
    if (static_cast<uint64_t>(source[e]) < static_cast<uint64_t>(sources) &&
        static_cast<uint64_t>(target[e]) < static_cast<uint64_t>(targets))
      continue;
    throw InputError(fmt::format("edge {} goes from node {} to node {}, expected below {} and {}", e,
                                 source[e], target[e], sources, targets));
  }
}

// Turns counts at ptr[i + 1] into places, and returns the maximum count.
int32_t sum_up(int32_t* ptr, int64_t nodes) {
  int32_t max = 0;
  for (int64_t i = 0; i < nodes; ++i) {
    max = std::max(max, ptr[i + 1]);
    ptr[i + 1] += ptr[i];
  }
  return max;
}

// Cuts nodes at places that no edge crosses, as soon as a piece has kPieceNodes nodes. Returns the number of
// pieces, or 0 if one would be too large. At first, piece_ptr contains, for the boundary before each node,
// the number of edges that start to cross there minus the number that stop.
int32_t cut_pieces(const EdgeOrder& order, int32_t* piece_ptr) {
  std::fill_n(piece_ptr, order.targets + 1, 0);
  for (int64_t i = 0; i < order.targets; ++i) {
    for (int32_t p = order.in_ptr[i]; p < order.in_ptr[i + 1]; ++p) {
      const int64_t j = order.source[p];
      ++piece_ptr[std::min(i, j) + 1];
      --piece_ptr[std::max(i, j) + 1];
    }
  }
  int32_t pieces = 0;
  int64_t passing = 0;
  int64_t begin = 0;
  piece_ptr[0] = 0;
  for (int64_t i = 1; i <= order.targets; ++i) {
    passing += piece_ptr[i];
    if (passing > 0 || (i - begin < kPieceNodes && i < order.targets)) continue;
    if (i - begin > kMaxPieceNodes) return 0;
    // This write never overtakes the counts that have not been read yet.
    piece_ptr[++pieces] = static_cast<int32_t>(i);
    begin = i;
  }
  return pieces;
}

// Cuts nodes between graphs in the same way.
int32_t cut_graphs(const EdgeOrder& order, std::span<const int64_t> ptr, int32_t* piece_ptr) {
  if (ptr.front() != 0 || ptr.back() != order.targets)
    throw InputError(fmt::format("the graphs' nodes go from {} to {}, expected from 0 to {}", ptr.front(),
                                 ptr.back(), order.targets));
  PieceCount count;
  for (size_t g = 1; g < ptr.size(); ++g) {
    const int64_t begin = ptr[g - 1];
    const int64_t end = ptr[g];
    // The end is also compared with the number of targets, because later entries may be smaller.
    if (begin > end || end > order.targets)
      throw InputError(fmt::format("graph {} has nodes from {} to {}, expected rising up to {}", g - 1, begin,
                                   end, order.targets));
    for (int32_t p = order.in_ptr[begin]; p < order.in_ptr[end]; ++p)
      if (order.source[p] < begin || order.source[p] >= end)
        throw InputError(
            fmt::format("edge {} comes from node {}, and goes to graph {}, whose nodes are {} to {}; edges "
                        "between graphs need an order made without ptr",
                        order.edge[p], order.source[p], g - 1, begin, end - 1));
    if (count.add(end - begin)) piece_ptr[count.pieces()] = static_cast<int32_t>(end);
  }
  if (count.end()) piece_ptr[count.pieces()] = static_cast<int32_t>(order.targets);
  if (count.closed()) return static_cast<int32_t>(count.pieces());
  std::fill_n(piece_ptr, order.targets + 1, 0);
  return 0;
}

}  // namespace

bool PieceCount::add(int64_t nodes) {
  nodes_ += nodes;
  return nodes_ >= kPieceNodes && end();
}

bool PieceCount::end() {
  if (nodes_ == 0) return false;
  ++pieces_;
  largest_ = std::max(largest_, nodes_);
  nodes_ = 0;
  return true;
}

void make_edge_order(const int64_t* source, const int64_t* target, int64_t edges, int64_t sources,
                     int64_t targets, bool same_nodes, bool drop_loops, int32_t* order,
                     std::span<const int64_t> ptr) {
  check_counts(edges, sources, targets);
  check_ends(source, target, edges, sources, targets);
  int32_t* const in_ptr = order + kHeadSize;
  int32_t* const piece_ptr = in_ptr + targets + 1;
  int32_t* const by_source = piece_ptr + targets + 1;
  int32_t* const by_edge = by_source + edges;

  // All numbers are cleared, including those that dropped edges and nodes within pieces leave unused, so that
  // equal edges give equal orders.
  std::fill_n(order, edge_order_size(targets, edges), 0);
  const auto kept = [&](int64_t e) { return !(drop_loops && source[e] == target[e]); };
  for (int64_t e = 0; e < edges; ++e)
    if (kept(e)) ++in_ptr[target[e] + 1];
  const int32_t max_in = sum_up(in_ptr, targets);
  for (int64_t e = 0; e < edges; ++e) {
    if (!kept(e)) continue;
    const int32_t at = in_ptr[target[e]]++;
    by_source[at] = static_cast<int32_t>(source[e]);
    by_edge[at] = static_cast<int32_t>(e);
  }
  std::copy_backward(in_ptr, in_ptr + targets, in_ptr + targets + 1);
  in_ptr[0] = 0;

  const auto head = edge_order_head(sources, targets, edges, in_ptr[targets], max_in);
  std::copy(head.begin(), head.end(), order);
  const EdgeOrder made = {
      .sources = sources, .targets = targets, .in_ptr = in_ptr, .source = by_source, .edge = by_edge};
  order[kPieces] = !ptr.empty()                ? cut_graphs(made, ptr, piece_ptr)
                   : same_nodes && targets > 0 ? cut_pieces(made, piece_ptr)
                                               : 0;
  order[kClosed] = order[kPieces] > 0 ? 1 : 0;
  piece_ptr[0] = 0;
  if (order[kPieces] > 0 || targets == 0) return;  // Without nodes, there is no piece.
  order[kPieces] = 1;
  piece_ptr[1] = static_cast<int32_t>(targets);
}

std::array<int32_t, kOrderHead> edge_order_head(int64_t sources, int64_t targets, int64_t edges, int64_t kept,
                                                int64_t max_in) {
  std::array<int32_t, kOrderHead> head{};
  head[kMark] = kOrderMark;
  head[kSources] = static_cast<int32_t>(sources);
  head[kTargets] = static_cast<int32_t>(targets);
  head[kEdges] = static_cast<int32_t>(edges);
  head[kKept] = static_cast<int32_t>(kept);
  head[kMaxIn] = static_cast<int32_t>(max_in);
  head[kPieces] = 1;
  return head;
}

EdgeOrder view_edge_order(const int32_t* order, int64_t size, int64_t sources, int64_t targets,
                          int64_t edges) {
  if (size != edge_order_size(targets, edges) || order[kMark] != kOrderMark || order[kSources] != sources ||
      order[kTargets] != targets || order[kEdges] != edges)
    throw InputError(fmt::format(
        "the edge order is not one of {} sources, {} targets and {} edges; make it with edge_order()",
        sources, targets, edges));
  EdgeOrder view = view_device_order(order, sources, targets, edges);
  view.edges = order[kKept];
  view.max_in = order[kMaxIn];
  view.pieces = order[kPieces];
  view.closed = order[kClosed] != 0;
  return view;
}

EdgeOrder view_device_order(const int32_t* order, int64_t sources, int64_t targets, int64_t edges) {
  EdgeOrder view{.sources = sources, .targets = targets, .edges = edges};
  view.in_ptr = order + kHeadSize;
  view.piece_ptr = view.in_ptr + targets + 1;
  view.source = view.piece_ptr + targets + 1;
  view.edge = view.source + edges;
  return view;
}

void transpose_edge_order(const EdgeOrder& order, int32_t* out_ptr, int32_t* position, int32_t* target) {
  std::fill_n(out_ptr, order.sources + 1, 0);
  for (int64_t p = 0; p < order.edges; ++p) ++out_ptr[order.source[p] + 1];
  sum_up(out_ptr, order.sources);
  for (int64_t i = 0; i < order.targets; ++i) {
    for (int32_t p = order.in_ptr[i]; p < order.in_ptr[i + 1]; ++p) {
      const int32_t at = out_ptr[order.source[p]]++;
      position[at] = p;
      target[at] = static_cast<int32_t>(i);
    }
  }
  std::copy_backward(out_ptr, out_ptr + order.sources, out_ptr + order.sources + 1);
  out_ptr[0] = 0;
}

}  // namespace plimsoll
