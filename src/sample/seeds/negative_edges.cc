#include "sample/seeds/negative_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

// Random draws per pair. If fewer than one pair in a hundred is allowed, the last pairs are drawn from a list
// of all allowed pairs.
constexpr int kMaxDraws = 1000;

}  // namespace

NegativeEdges::NegativeEdges(const Topology& topology, const NegativeOptions& options, uint64_t seed,
                             Excluded excluded)
    : topology_(topology),
      options_(options),
      seed_(seed),
      excluded_(std::move(excluded)),
      search_(topology),
      allowed_pairs_(
          topology, options.avoid_existing,
          [self_loops = options.self_loops, excludes = excluded_](int64_t node, int64_t neighbour) {
            return (self_loops || node != neighbour) && !(excludes && excludes(node, neighbour));
          }) {
  const int64_t nodes = topology.nodes();
  if (nodes < 2 || (options.avoid_existing && topology.edges() / nodes >= nodes - 1))
    throw UsageError(fmt::format(
        "negative edges: found {} edges between {} nodes, expected some pairs without an edge; sample from a "
        "graph that has such pairs",
        topology.edges(), nodes));
}

void NegativeEdges::refuse_node(int64_t node) const {
  throw UsageError(fmt::format(
      "negative edges: node {} has edges to all {} nodes, expected a node without an edge; leave it out",
      node, topology_.nodes()));
}

// Marks all pairs as waiting. Each pair has separate random numbers.
void NegativeEdges::begin(std::span<const int64_t> numbers, uint32_t epoch, uint64_t part) {
  draws_.clear();
  for (const int64_t number : numbers)
    draws_.emplace_back(item_key(seed_, Purpose::negative_edges, epoch, number), Purpose::negative_edges,
                        part);
  waiting_.resize(numbers.size());
  std::iota(waiting_.begin(), waiting_.end(), size_t{0});
}

// Counts the neighbours that may be drawn for each node.
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

// Replaces each rank among a node's allowed neighbours with the neighbour of that rank.
void NegativeEdges::find_neighbours(std::span<const int64_t> nodes, std::span<int64_t> neighbours) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    // The node itself is missing from its list, but it is not allowed as a neighbour.
    const bool skip = !options_.self_loops && loops_[i] == 0;
    if (skip && ranks_[i] >= nodes[i] - places_[i]) ++ranks_[i];
  }
  search_.find_missing(lists_, ranks_, neighbours);
}

// Stores the neighbours found for waiting pairs. Pairs continue to wait if their neighbour does not exist or
// is excluded.
void NegativeEdges::keep_waiting(std::span<const int64_t> nodes, std::span<int64_t> neighbours) {
  size_t still = 0;
  for (size_t j = 0; j < waiting_.size(); ++j) {
    const size_t i = waiting_[j];
    neighbours[i] = found_[j];
    if (found_[j] >= topology_.nodes() || (excluded_ && excluded_(nodes[i], found_[j])))
      waiting_[still++] = i;
  }
  waiting_.resize(still);
}

void NegativeEdges::structured(std::span<const int64_t> nodes, std::span<const int64_t> edges, uint32_t epoch,
                               std::span<int64_t> neighbours) {
  begin(edges, epoch, 0);
  for (int draw = 0; draw < kMaxDraws && !waiting_.empty(); ++draw) {
    drawn_.clear();
    for (const size_t i : waiting_) drawn_.push_back(nodes[i]);
    count_allowed(drawn_);
    ranks_.resize(drawn_.size());
    for (size_t j = 0; j < drawn_.size(); ++j) {
      if (allowed_[j] == 0) refuse_node(drawn_[j]);
      ranks_[j] = static_cast<int64_t>(draws_[waiting_[j]].below(static_cast<uint64_t>(allowed_[j])));
    }
    found_.resize(drawn_.size());
    find_neighbours(drawn_, found_);
    keep_waiting(nodes, neighbours);
  }
  std::ranges::sort(waiting_, {}, [&](size_t i) { return nodes[i]; });  // Makes each list be read only once.
  for (const size_t i : waiting_) {
    const std::span<const int64_t> all = allowed_pairs_.neighbours(nodes[i]);
    if (all.empty()) refuse_node(nodes[i]);
    neighbours[i] = all[draws_[i].below(all.size())];
  }
}

void NegativeEdges::uniform(int64_t first, uint32_t epoch, std::span<int64_t> nodes,
                            std::span<int64_t> neighbours) {
  numbers_.resize(nodes.size());
  std::iota(numbers_.begin(), numbers_.end(), first);
  uniform(numbers_, epoch, nodes, neighbours);
}

// Draws a node, and a rank among all nodes. The pair is valid if the node has more than `rank` allowed
// neighbours; otherwise its neighbour is a number beyond the nodes.
void NegativeEdges::uniform(std::span<const int64_t> numbers, uint32_t epoch, std::span<int64_t> nodes,
                            std::span<int64_t> neighbours) {
  begin(numbers, epoch, 1);
  const auto all = static_cast<uint64_t>(topology_.nodes());
  for (int draw = 0; draw < kMaxDraws && !waiting_.empty(); ++draw) {
    drawn_.clear();
    ranks_.clear();
    for (const size_t i : waiting_) {
      nodes[i] = static_cast<int64_t>(draws_[i].below(all));
      drawn_.push_back(nodes[i]);
      ranks_.push_back(static_cast<int64_t>(draws_[i].below(all)));
    }
    count_allowed(drawn_);
    found_.resize(drawn_.size());
    find_neighbours(drawn_, found_);
    keep_waiting(nodes, neighbours);
  }
  if (!waiting_.empty()) draw_from_all(nodes, neighbours);
}

// Draws each waiting pair from a list of all allowed pairs.
void NegativeEdges::draw_from_all(std::span<int64_t> nodes, std::span<int64_t> neighbours) {
  const int64_t total = allowed_pairs_.total();
  if (total == 0)
    throw UsageError(fmt::format(
        "negative edges: all pairs of the {} nodes have an edge ({} in the graph, the others held out), "
        "expected some pairs without an edge; remove some edges from the source, then ingest and split it "
        "again",
        topology_.nodes(), topology_.edges()));
  ranks_.resize(draws_.size());
  for (const size_t i : waiting_)
    ranks_[i] = static_cast<int64_t>(draws_[i].below(static_cast<uint64_t>(total)));
  std::ranges::sort(waiting_, {}, [&](size_t i) { return ranks_[i]; });  // Makes each list be read only once.
  for (const size_t i : waiting_) {
    const AllowedPairs::Pair pair = allowed_pairs_.at(ranks_[i]);
    nodes[i] = pair.node;
    neighbours[i] = allowed_pairs_.neighbours(pair.node)[static_cast<size_t>(pair.place)];
  }
}

}  // namespace plimsoll
