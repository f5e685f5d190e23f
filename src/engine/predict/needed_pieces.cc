#include "engine/predict/needed_pieces.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "memory/ledger.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

// A layer that needs more than this share of the pieces computes all of them, without reading the edges.
constexpr double kMaxShare = 0.75;

// Reads lists of edges, a limited number of edges at a time.
class ListParts {
 public:
  explicit ListParts(const Topology& topology) : topology_(topology), edges_(kEdges), neighbours_(kEdges) {}

  // Calls use(neighbour) for each edge of a node's list.
  template <typename Use>
  void each_neighbour(int64_t node, const Use& use) {
    EdgeRange list;
    topology_.read_lists(std::span(&node, 1), std::span(&list, 1));
    for (int64_t first = 0; first < list.degree; first += kEdges) {
      const auto count = static_cast<size_t>(std::min(kEdges, list.degree - first));
      const std::span<int64_t> part = std::span(edges_).first(count);
      std::iota(part.begin(), part.end(), list.first + first);
      topology_.read_neighbours(part, std::span(neighbours_).first(count));
      std::ranges::for_each(std::span(neighbours_).first(count), use);
    }
  }

 private:
  static constexpr int64_t kEdges = 4096;

  const Topology& topology_;
  Vector<int64_t, Tag::blocks> edges_, neighbours_;
};

// Returns the pieces that contain a node of the set; nullopt if most pieces do.
NeededPieces pieces_with(const RowSet& nodes, const Pieces& pieces) {
  RowSet found(pieces.count());
  int64_t count = 0;
  int64_t next = nodes.next(0);
  for (int64_t number = 0; number < pieces.count() && next != RowSet::kNone; ++number) {
    const int64_t end = pieces.nodes_until(number);
    const int64_t begin = pieces.begins[static_cast<size_t>(number)];
    // A chunk that is not the last of its hub has the same begin and end.
    if (next >= std::max(end, begin + 1)) continue;
    found.add(number);
    ++count;
    if (next < end) next = nodes.next(end);
  }
  if (static_cast<double>(count) > kMaxShare * static_cast<double>(pieces.count())) return std::nullopt;
  return found;
}

void add_sources(const Topology& topology, const RowSet& nodes, RowSet& to) {
  ListParts lists(topology);
  for (int64_t node = nodes.next(0); node != RowSet::kNone; node = nodes.next(node + 1)) {
    to.add(node);
    lists.each_neighbour(node, [&](int64_t neighbour) { to.add(neighbour); });
  }
}

}  // namespace

std::vector<NeededPieces> needed_pieces(const Topology& topology, const Pieces& pieces,
                                        std::span<const int64_t> nodes, int64_t layers) {
  std::vector<NeededPieces> needed(static_cast<size_t>(layers));
  try {
    RowSet outputs(topology.nodes());
    for (const int64_t node : nodes) outputs.add(node);
    for (int64_t layer = layers - 1; layer >= 0; --layer) {
      NeededPieces& of_layer = needed[static_cast<size_t>(layer)];
      of_layer = pieces_with(outputs, pieces);
      if (!of_layer || layer == 0) break;
      RowSet inputs(topology.nodes());
      add_sources(topology, outputs, inputs);
      outputs = std::move(inputs);
    }
  } catch (const BudgetExceeded&) {
    std::ranges::fill(needed, std::nullopt);
  }
  return needed;
}

}  // namespace plimsoll
