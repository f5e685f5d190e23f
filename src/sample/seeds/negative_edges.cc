#include "sample/seeds/negative_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

// A node of which all neighbours drawn so often are excluded has hardly another.
constexpr int kMostRounds = 1000;

}  // namespace

NegativeEdges::NegativeEdges(const Topology& topology, const NegativeOptions& options, uint64_t seed,
                             Excluded excluded)
    : topology_(topology), options_(options), seed_(seed), excluded_(std::move(excluded)), search_(topology) {
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

// Gives pairs that wait what was found for them; those that are excluded still wait.
void NegativeEdges::keep_excluded(std::span<const int64_t> nodes, std::span<int64_t> neighbours) {
  size_t still = 0;
  for (size_t j = 0; j < waiting_.size(); ++j) {
    const size_t i = waiting_[j];
    neighbours[i] = found_[j];
    if (excluded_ && excluded_(nodes[i], found_[j])) waiting_[still++] = i;
  }
  waiting_.resize(still);
}

void NegativeEdges::structured(std::span<const int64_t> nodes, std::span<const int64_t> edges, uint32_t epoch,
                               std::span<int64_t> neighbours) {
  draws_.clear();
  for (const int64_t edge : edges)
    draws_.emplace_back(item_key(seed_, Purpose::negative_edges, epoch, edge), Purpose::negative_edges, 0);
  waiting_.resize(nodes.size());
  std::iota(waiting_.begin(), waiting_.end(), size_t{0});
  for (int round = 0; !waiting_.empty(); ++round) {
    drawn_.clear();
    for (const size_t i : waiting_) drawn_.push_back(nodes[i]);
    count_allowed(drawn_);
    ranks_.resize(drawn_.size());
    for (size_t j = 0; j < drawn_.size(); ++j) {
      if (allowed_[j] == 0 || round == kMostRounds)
        throw UsageError(fmt::format(
            "negative edges: node {} has edges to all {} nodes, expected one without; leave it out",
            drawn_[j], topology_.nodes()));
      ranks_[j] = static_cast<int64_t>(draws_[waiting_[j]].below(static_cast<uint64_t>(allowed_[j])));
    }
    found_.resize(drawn_.size());
    find_neighbours(drawn_, found_);
    keep_excluded(nodes, neighbours);
  }
}

void NegativeEdges::uniform(int64_t first, uint32_t epoch, std::span<int64_t> nodes,
                            std::span<int64_t> neighbours) {
  numbers_.resize(nodes.size());
  std::iota(numbers_.begin(), numbers_.end(), first);
  uniform(numbers_, epoch, nodes, neighbours);
}

void NegativeEdges::uniform(std::span<const int64_t> numbers, uint32_t epoch, std::span<int64_t> nodes,
                            std::span<int64_t> neighbours) {
  draws_.clear();
  for (const int64_t number : numbers)
    draws_.emplace_back(item_key(seed_, Purpose::negative_edges, epoch, number), Purpose::negative_edges, 1);
  all_ranks_.resize(nodes.size());
  waiting_.resize(nodes.size());
  std::iota(waiting_.begin(), waiting_.end(), size_t{0});
  while (!waiting_.empty()) {
    draw_pairs(nodes);
    drawn_.clear();
    ranks_.clear();
    for (const size_t i : waiting_) {
      drawn_.push_back(nodes[i]);
      ranks_.push_back(all_ranks_[i]);
    }
    count_allowed(drawn_);
    found_.resize(drawn_.size());
    find_neighbours(drawn_, found_);
    keep_excluded(nodes, neighbours);
  }
}

// A node and a rank are drawn among all nodes; the pair counts if the node has so many allowed neighbours.
void NegativeEdges::draw_pairs(std::span<int64_t> nodes) {
  const auto all = static_cast<uint64_t>(topology_.nodes());
  rejected_ = waiting_;
  while (!rejected_.empty()) {
    drawn_.clear();
    for (const size_t i : rejected_) {
      nodes[i] = static_cast<int64_t>(draws_[i].below(all));
      all_ranks_[i] = static_cast<int64_t>(draws_[i].below(all));
      drawn_.push_back(nodes[i]);
    }
    count_allowed(drawn_);
    size_t still = 0;
    for (size_t j = 0; j < rejected_.size(); ++j)
      if (all_ranks_[rejected_[j]] >= allowed_[j]) rejected_[still++] = rejected_[j];
    rejected_.resize(still);
  }
}

}  // namespace plimsoll
