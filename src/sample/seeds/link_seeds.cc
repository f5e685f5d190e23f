#include "sample/seeds/link_seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace plimsoll {
namespace {

// Rows (neighbour, node), ascending by node and then neighbour.
bool has_row(std::span<const int64_t> edges, int64_t node, int64_t neighbour) {
  size_t low = 0;
  size_t high = edges.size() / 2;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int64_t found = edges[2 * middle + 1];
    if (found < node || (found == node && edges[2 * middle] < neighbour))
      low = middle + 1;
    else
      high = middle;
  }
  return 2 * low < edges.size() && edges[2 * low + 1] == node && edges[2 * low] == neighbour;
}

NegativeEdges::Excluded held_out_of(const GraphView& graph) {
  return [held_out = HeldOutEdges(graph)](int64_t node, int64_t neighbour) {
    return held_out.contains(node, neighbour);
  };
}

}  // namespace

bool HeldOutEdges::contains(int64_t node, int64_t neighbour) const {
  for (size_t split = 1; split < kGraphSplits.size(); ++split) {
    const std::span<const int64_t> edges = graph_.split_edges(split);
    if (has_row(edges, node, neighbour) || has_row(edges, neighbour, node)) return true;
  }
  return false;
}

LinkSeeds::LinkSeeds(const Topology& topology, const GraphView& graph, int64_t negatives, uint64_t seed)
    : graph_(graph), negatives_(negatives), negative_edges_(topology, {}, seed, held_out_of(graph)) {}

void LinkSeeds::make(const SeedBlocks& blocks, const SeedBlocks::Block& block,
                     Vector<int64_t, Tag::blocks>& nodes, Vector<int32_t, Tag::blocks>& pairs,
                     Vector<float, Tag::blocks>& pair_y) {
  const SeedList& list = blocks.lists()[block.list];
  blocks.places(block, places_);
  const size_t edges = places_.size();
  const size_t count = edges * static_cast<size_t>(1 + negatives_);
  ends_.resize(count);
  neighbour_ends_.resize(count);
  numbers_.clear();
  for (size_t i = 0; i < edges; ++i) {
    const auto at = static_cast<size_t>(places_[i]);
    neighbour_ends_[i] = list.edges[2 * at];
    ends_[i] = list.edges[2 * at + 1];
    for (const int64_t end : {neighbour_ends_[i], ends_[i]})
      if (end < 0 || end >= graph_.nodes())
        throw InputError(
            fmt::format("{}: row {} of {}_edges names node {}, expected 0 .. {}; run `plimsoll verify`",
                        graph_.set().folder().string(), at, list.name, end, graph_.nodes() - 1));
    for (int64_t n = 0; n < negatives_; ++n) numbers_.push_back(places_[i] * negatives_ + n);
  }
  negative_edges_.uniform(numbers_, block.epoch, std::span(ends_).subspan(edges),
                          std::span(neighbour_ends_).subspan(edges));
  nodes.assign(ends_.begin(), ends_.end());
  nodes.insert(nodes.end(), neighbour_ends_.begin(), neighbour_ends_.end());
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const auto place_of = [&](int64_t node) {
    return static_cast<int32_t>(std::ranges::lower_bound(nodes, node) - nodes.begin());
  };
  pairs.clear();
  for (size_t i = 0; i < count; ++i) {
    pairs.push_back(place_of(neighbour_ends_[i]));
    pairs.push_back(place_of(ends_[i]));
  }
  pair_y.assign(count, 0.0F);
  std::fill_n(pair_y.begin(), edges, 1.0F);
}

EvaluationNegatives::EvaluationNegatives(const Topology& topology, const GraphView& graph, size_t split,
                                         uint64_t seed)
    : negative_edges_(topology, {}, seed, held_out_of(graph)),
      // Training epochs never have these numbers.
      epoch_(std::numeric_limits<uint32_t>::max() - static_cast<uint32_t>(split)) {}

void EvaluationNegatives::uniform(int64_t first, std::span<int64_t> nodes, std::span<int64_t> neighbours) {
  negative_edges_.uniform(first, epoch_, nodes, neighbours);
}

void EvaluationNegatives::ranked(int64_t first, std::span<const int64_t> nodes, int64_t count,
                                 Vector<int64_t, Tag::columns>& pair_nodes,
                                 Vector<int64_t, Tag::columns>& neighbours) {
  pair_nodes.clear();
  for (const int64_t node : nodes) pair_nodes.insert(pair_nodes.end(), static_cast<size_t>(count), node);
  numbers_.resize(pair_nodes.size());
  std::iota(numbers_.begin(), numbers_.end(), first * count);
  neighbours.resize(pair_nodes.size());
  negative_edges_.structured(pair_nodes, numbers_, epoch_, neighbours);
}

}  // namespace plimsoll
