#include "sample/neighbour/neighbour_sampler.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "base/error.h"
#include "sample/neighbour/subgraph_types.h"

namespace plimsoll {
namespace {

constexpr size_t kSlotsAhead = 8;     // Distance of the prefetch of slots, in nodes.
constexpr int64_t kMaxDraws = 65536;  // Maximum draws for one node with replacement, as in a recipe.

}  // namespace

void SampledSubgraph::clear() {
  for (Column* column : {&row, &col, &node, &edge, &batch, &nodes_per_hop, &edges_per_hop}) column->clear();
}

int64_t SampledSubgraph::bytes() const {
  size_t numbers = 0;
  for (const Column* column : {&row, &col, &node, &edge, &batch, &nodes_per_hop, &edges_per_hop})
    numbers += column->capacity();
  return static_cast<int64_t>(numbers * sizeof(int64_t));
}

NeighbourSampler::NeighbourSampler(const Topology& topology, NeighbourOptions options, uint64_t seed)
    : topology_(topology), options_(std::move(options)), seed_(seed) {
  for (const int64_t fan_out : options_.fan_outs)
    if (fan_out < NeighbourChoice::kAll)
      throw UsageError(
          fmt::format("found a fan-out of {}, expected -1 for all neighbours, 0 or more", fan_out));
  for (const int64_t fan_out : options_.fan_outs)
    if (options_.replace && fan_out > kMaxDraws)
      throw UsageError(
          fmt::format("found a fan-out of {} with replacement, expected at most {}", fan_out, kMaxDraws));
  if (options_.weighted && !topology.weighted())
    throw UsageError("sampling by weight: the graph has no weights; add weights, or sample without them");
}

void NeighbourSampler::sample(std::span<const int64_t> seeds, uint32_t epoch, SampledSubgraph& out) {
  sample(seeds, epoch, {}, out);
}

void NeighbourSampler::sample(std::span<const int64_t> seeds, uint32_t epoch,
                              std::span<const int64_t> targets, SampledSubgraph& out) {
  targets_.clear();
  for (size_t i = 0; i + 1 < targets.size(); i += 2) targets_.add(0, targets[i], targets[i + 1]);
  if (!targets.empty()) targets_.find(topology_);
  begin(seeds, epoch, out);
  size_t first = 0;
  for (const int64_t fan_out : options_.fan_outs) {
    const size_t end = out.node.size();
    const size_t edges = out.edge.size();
    expand(first, end, fan_out, out);
    out.nodes_per_hop.push_back(static_cast<int64_t>(out.node.size() - end));
    out.edges_per_hop.push_back(static_cast<int64_t>(out.edge.size() - edges));
    first = end;
  }
  if (options_.subgraph == SubgraphType::bidirectional) make_bidirectional(out);
  if (options_.subgraph == SubgraphType::induced) induce(topology_, table_, targets_, out);
}

void NeighbourSampler::sample_part(int64_t seed, const EdgeRange& part, SampledSubgraph& out) {
  begin(std::span(&seed, 1), 0, out);
  out.edge.resize(static_cast<size_t>(part.degree));
  std::iota(out.edge.begin(), out.edge.end(), part.first);
  out.col.resize(out.edge.size(), 0);
  out.row.resize(out.edge.size());
  topology_.read_neighbours(out.edge, out.row);
  number(0, out);
  out.nodes_per_hop.push_back(static_cast<int64_t>(out.node.size()) - 1);
  out.edges_per_hop.push_back(part.degree);
}

void NeighbourSampler::begin(std::span<const int64_t> seeds, uint32_t epoch, SampledSubgraph& out) {
  out.clear();
  table_.begin(out.node, out.batch, options_.disjoint);
  keys_.resize(seeds.size());
  for (size_t i = 0; i < seeds.size(); ++i) {
    keys_[i] = item_key(seed_, Purpose::neighbours, epoch, seeds[i]);
    if (table_.find_or_add(seeds[i], static_cast<int64_t>(i)) != static_cast<int64_t>(i))
      throw UsageError(
          fmt::format("seed {} occurs twice in a batch; expected distinct seeds, or `disjoint`", seeds[i]));
  }
  out.nodes_per_hop.push_back(static_cast<int64_t>(seeds.size()));
}

void NeighbourSampler::expand(size_t first, size_t end, int64_t fan_out, SampledSubgraph& out) {
  const size_t first_edge = out.edge.size();
  lists_.resize(end - first);
  topology_.read_lists(std::span(out.node).subspan(first, end - first), lists_);
  choose(first, end, fan_out, out);
  out.row.resize(out.edge.size());
  topology_.read_neighbours(std::span(out.edge).subspan(first_edge), std::span(out.row).subspan(first_edge));
  number(first_edge, out);
}

// Appends the chosen edges of the nodes first .. end-1, and the node of each.
void NeighbourSampler::choose(size_t first, size_t end, int64_t fan_out, SampledSubgraph& out) {
  size_t edges = out.edge.size();
  size_t max = edges;
  for (const EdgeRange& list : lists_)
    max += static_cast<size_t>(NeighbourChoice::max(list.degree, fan_out, options_.replace));
  out.edge.resize(max);
  out.col.resize(max);
  for (size_t i = first; i < end; ++i) {
    const EdgeRange& list = lists_[i - first];
    Draws draws(keys_[static_cast<size_t>(out.batch[i])], Purpose::neighbours,
                static_cast<uint64_t>(out.node[i]));
    int64_t* const to = out.edge.data() + edges;
    const NeighbourChoice::Without without = targets_.of_node(0, out.node[i]);
    const int64_t chosen =
        options_.weighted ? choice_.weighted(topology_, list, fan_out, options_.replace, draws, to, without)
                          : choice_.uniform(list, fan_out, options_.replace, draws, to, without);
    for (int64_t j = 0; j < chosen; ++j) out.col[edges++] = static_cast<int64_t>(i);
  }
  out.edge.resize(edges);
  out.col.resize(edges);
}

// Replaces the neighbours of new edges, which are nodes of the graph, with their numbers in the batch.
void NeighbourSampler::number(size_t first_edge, SampledSubgraph& out) {
  const auto tree = [&](size_t i) { return out.batch[static_cast<size_t>(out.col[i])]; };
  for (size_t i = first_edge; i < out.row.size(); ++i) {
    if (i + kSlotsAhead < out.row.size()) table_.fetch(out.row[i + kSlotsAhead], tree(i + kSlotsAhead));
    out.row[i] = table_.find_or_add(out.row[i], tree(i));
  }
}

}  // namespace plimsoll
