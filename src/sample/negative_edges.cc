#include "sample/negative_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace plimsoll {

NegativeEdges::NegativeEdges(const Topology& topology, const NegativeOptions& options, uint64_t seed)
    : topology_(topology), options_(options), seed_(seed), search_(topology) {
  const int64_t nodes = topology.nodes();
  if (nodes < 2 || (options.avoid_existing && topology.edges() / nodes >= nodes - 1))
    throw UsageError(fmt::format(
        "negative edges: found {} edges between {} nodes, expected pairs without one; sample from a "
        "graph that has some",
        topology.edges(), nodes));
}

// For each node, how many neighbours may be drawn.
void NegativeEdges::count_allowed(std::span<const int64_t> nodes) {
  lists_.resize(nodes.size());
  topology_.read_lists(nodes, lists_);
  if (!options_.avoid_existing) std::fill(lists_.begin(), lists_.end(), EdgeRange{});
  places_.resize(nodes.size());
  loops_.resize(nodes.size());
  search_.find(lists_, nodes, places_, loops_);
  allowed_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    allowed_[i] = topology_.nodes() - lists_[i].degree - (options_.self_loops || loops_[i] != 0 ? 0 : 1);
}

// Turns ranks among allowed neighbours into neighbours.
void NegativeEdges::find_neighbours(std::span<const int64_t> nodes, std::span<int64_t> neighbours) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    // The node itself is missing from its list, but not allowed.
    const bool skip = !options_.self_loops && loops_[i] == 0;
    if (skip && ranks_[i] >= nodes[i] - places_[i]) ++ranks_[i];
  }
  search_.find_missing(lists_, ranks_, neighbours);
}

void NegativeEdges::structured(std::span<const int64_t> nodes, std::span<const int64_t> edges, uint32_t epoch,
                               std::span<int64_t> neighbours) {
  count_allowed(nodes);
  ranks_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (allowed_[i] == 0)
      throw UsageError(
          fmt::format("negative edges: node {} has edges to all {} nodes, expected one without; leave it out",
                      nodes[i], topology_.nodes()));
    Draws draws(item_key(seed_, Purpose::negative_edges, epoch, edges[i]), Purpose::negative_edges, 0);
    ranks_[i] = static_cast<int64_t>(draws.below(static_cast<uint64_t>(allowed_[i])));
  }
  find_neighbours(nodes, neighbours);
}

// A node and a rank are drawn among all nodes; the pair counts if the node has so many allowed neighbours.
void NegativeEdges::uniform(int64_t first, uint32_t epoch, std::span<int64_t> nodes,
                            std::span<int64_t> neighbours) {
  const auto all = static_cast<uint64_t>(topology_.nodes());
  draws_.clear();
  waiting_.clear();
  for (size_t i = 0; i < nodes.size(); ++i) {
    draws_.emplace_back(item_key(seed_, Purpose::negative_edges, epoch, first + static_cast<int64_t>(i)),
                        Purpose::negative_edges, 1);
    waiting_.push_back(i);
  }
  Column<int64_t> ranks(nodes.size());
  while (!waiting_.empty()) {
    drawn_.clear();
    for (const size_t i : waiting_) {
      nodes[i] = static_cast<int64_t>(draws_[i].below(all));
      ranks[i] = static_cast<int64_t>(draws_[i].below(all));
      drawn_.push_back(nodes[i]);
    }
    count_allowed(drawn_);
    size_t still = 0;
    for (size_t j = 0; j < waiting_.size(); ++j)
      if (ranks[waiting_[j]] >= allowed_[j]) waiting_[still++] = waiting_[j];
    waiting_.resize(still);
  }
  count_allowed(nodes);
  ranks_ = std::move(ranks);
  find_neighbours(nodes, neighbours);
}

}  // namespace plimsoll
