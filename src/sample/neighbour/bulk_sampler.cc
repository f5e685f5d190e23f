#include "sample/neighbour/bulk_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr size_t kTogether = 64 * 1024;        // Lists or edges that are read together.
constexpr size_t kValuesTogether = 64 * 1024;  // Edge values that are read together.
constexpr size_t kAhead = 8;                   // Distance of the prefetch of slots, in nodes.

template <typename Column>
int64_t bytes_of(const Column& column) {
  return static_cast<int64_t>(column.capacity() * sizeof(typename Column::value_type));
}

}  // namespace

int64_t SampledBatch::bytes() const {
  return bytes_of(node) + bytes_of(in) + bytes_of(source) + bytes_of(values);
}

void begin_batch(std::span<const int64_t> seeds, NodeIdMap& table, NodeIdMap::Column& tree,
                 SampledBatch& batch) {
  batch.node.clear();  // clear() keeps the capacity, which the plan of a run includes.
  tree.clear();
  table.begin(batch.node, tree, false);
  for (size_t i = 0; i < seeds.size(); ++i)
    if (table.find_or_add(seeds[i], static_cast<int64_t>(i)) != static_cast<int64_t>(i))
      throw UsageError(fmt::format("seed {} occurs twice in a batch; expected distinct seeds", seeds[i]));
  batch.in.clear();
  batch.source.clear();
  batch.values.clear();
  batch.nodes_per_hop = {batch.nodes()};
  batch.edges_per_hop.clear();
}

BulkSampler::BulkSampler(const Topology& topology, NeighbourOptions options, uint64_t seed)
    : topology_(topology), options_(std::move(options)), seed_(seed) {
  const NeighbourSampler refuses_wrong_options(topology_, options_, seed_);
  if (options_.disjoint || options_.subgraph != SubgraphType::directional)
    throw UsageError("bulk sampling supports only directional subgraphs whose seeds share their nodes");
  if (topology.nodes() > std::numeric_limits<uint32_t>::max())
    throw UsageError(fmt::format("found a graph of {} nodes, expected fewer than 2^32", topology.nodes()));
}

bool BulkSampler::sample(std::span<SampledBatch> batches, const std::stop_token& stop,
                         PredictedEdges* targets) {
  begin(batches);
  for (const int64_t fan_out : options_.fan_outs) {
    if (!read_lists(batches, stop)) return false;
    lay_out(batches, fan_out);
    if (!choose(batches, fan_out, targets, stop)) return false;
    for (size_t b = 0; b < batches.size(); ++b) number(batches[b], b);
    targets = nullptr;  // Seeds are expanded only in the first hop.
  }
  for (NodeIdMap::Column& tree : trees_) tree.clear();
  return true;
}

void BulkSampler::forget() {
  trees_.clear();
  const auto give_back = [](auto& column) { std::remove_reference_t<decltype(column)>().swap(column); };
  give_back(expanded_);
  give_back(lists_);
  give_back(begins_);
  give_back(edges_);
  give_back(neighbours_);
  give_back(values_);
}

void BulkSampler::begin(std::span<SampledBatch> batches) {
  trees_.resize(std::max(trees_.size(), batches.size()));
  first_of_.resize(batches.size());
  for (size_t b = 0; b < batches.size(); ++b) {
    seeds_.assign(batches[b].node.begin(), batches[b].node.end());
    begin_batch(seeds_, table_, trees_[b], batches[b]);
  }
}

// Collects the nodes that were new in the previous hop, in node order, and reads their lists.
bool BulkSampler::read_lists(std::span<SampledBatch> batches, const std::stop_token& stop) {
  expanded_.clear();
  for (size_t b = 0; b < batches.size(); ++b) {
    const SampledBatch& batch = batches[b];
    first_of_[b] = expanded_.size();
    for (size_t i = batch.in.size(); i < batch.node.size(); ++i)
      expanded_.push_back({batch.node[i], static_cast<uint32_t>(b), static_cast<uint32_t>(i)});
  }
  if (batches.size() > 1)
    std::sort(expanded_.begin(), expanded_.end(),
              [](const Expanded& a, const Expanded& b) { return a.node < b.node; });
  lists_.resize(expanded_.size());
  for (size_t first = 0; first < expanded_.size(); first += kTogether) {
    if (stop.stop_requested()) return false;
    const size_t count = std::min(kTogether, expanded_.size() - first);
    edges_.resize(count);  // Holds nodes during this call.
    for (size_t i = 0; i < count; ++i) edges_[i] = expanded_[first + i].node;
    topology_.read_lists(edges_, std::span(lists_).subspan(first, count));
  }
  return true;
}

// Reserves space for the edges of each node, in the order of its batch.
void BulkSampler::lay_out(std::span<SampledBatch> batches, int64_t fan_out) {
  for (SampledBatch& batch : batches) batch.in.resize(batch.node.size());
  for (size_t i = 0; i < expanded_.size(); ++i)
    batches[expanded_[i].batch].in[expanded_[i].place] =
        static_cast<uint32_t>(NeighbourChoice::max(lists_[i].degree, fan_out, options_.replace));
  begins_.resize(expanded_.size());
  for (size_t b = 0; b < batches.size(); ++b) {
    SampledBatch& batch = batches[b];
    const size_t count = (b + 1 < batches.size() ? first_of_[b + 1] : expanded_.size()) - first_of_[b];
    size_t edges = batch.source.size();
    for (size_t i = 0; i < count; ++i) {
      begins_[first_of_[b] + i] = static_cast<uint32_t>(edges);
      edges += batch.in[batch.in.size() - count + i];
    }
    if (edges > std::numeric_limits<uint32_t>::max())
      throw InputError("found a batch of 2^32 edges or more, expected fewer; sample fewer seeds at a time");
    batch.source.resize(edges);
    batch.values.resize(edges * static_cast<size_t>(topology_.edge_width()));
  }
}

bool BulkSampler::choose(std::span<SampledBatch> batches, int64_t fan_out, PredictedEdges* targets,
                         const std::stop_token& stop) {
  edges_.clear();
  size_t first = 0;
  for (size_t i = 0; i < expanded_.size(); ++i) {
    const Expanded& expanded = expanded_[i];
    SampledBatch& batch = batches[expanded.batch];
    const auto seed = static_cast<size_t>(trees_[expanded.batch][expanded.place]);
    Draws draws(item_key(seed_, Purpose::neighbours, batch.epoch, batch.node[seed]), Purpose::neighbours,
                static_cast<uint64_t>(expanded.node));
    const size_t before = edges_.size();
    edges_.resize(before + batch.in[expanded.place]);
    int64_t* const to = edges_.data() + before;
    NeighbourChoice::Without without;
    if (targets != nullptr) without = targets->of_node(expanded.batch, expanded.node);
    const int64_t chosen =
        options_.weighted
            ? choice_.weighted(topology_, lists_[i], fan_out, options_.replace, draws, to, without)
            : choice_.uniform(lists_[i], fan_out, options_.replace, draws, to, without);
    batch.in[expanded.place] = static_cast<uint32_t>(chosen);
    edges_.resize(before + static_cast<size_t>(chosen));
    if (edges_.size() < kTogether && i + 1 < expanded_.size()) continue;
    if (stop.stop_requested()) return false;
    read_chosen(batches, first, i + 1);
    first = i + 1;
  }
  return true;
}

// Reads the neighbours of the chosen edges of some nodes into their batch.
void BulkSampler::read_chosen(std::span<SampledBatch> batches, size_t first, size_t end) {
  neighbours_.resize(edges_.size());
  topology_.read_neighbours(edges_, neighbours_);
  const int64_t* from = neighbours_.data();
  for (size_t i = first; i < end; ++i) {
    const Expanded& expanded = expanded_[i];
    SampledBatch& batch = batches[expanded.batch];
    uint32_t* const to = batch.source.data() + begin_of(batches, expanded);
    for (uint32_t j = 0; j < batch.in[expanded.place]; ++j) to[j] = static_cast<uint32_t>(*from++);
  }
  if (topology_.edge_width() > 0) read_values(batches, first, end);
  edges_.clear();
}

// Returns the offset of a node's edges in its batch.
size_t BulkSampler::begin_of(std::span<SampledBatch> batches, const Expanded& expanded) const {
  const size_t before =
      (expanded.batch + 1 < batches.size() ? first_of_[expanded.batch + 1] : expanded_.size());
  return begins_[before - (batches[expanded.batch].in.size() - expanded.place)];
}

// Does the same as read_chosen() for the values of these edges, a few at a time, because they may be many
// times as long.
void BulkSampler::read_values(std::span<SampledBatch> batches, size_t first, size_t end) {
  const auto width = static_cast<size_t>(topology_.edge_width());
  const size_t together = std::clamp<size_t>(kValuesTogether / width, 1, std::max<size_t>(edges_.size(), 1));
  values_.resize(together * width);
  size_t read = 0, used = 0;  // Indices into edges_.
  for (size_t i = first; i < end; ++i) {
    const Expanded& expanded = expanded_[i];
    SampledBatch& batch = batches[expanded.batch];
    float* to = batch.values.data() + begin_of(batches, expanded) * width;
    size_t left = batch.in[expanded.place];
    while (left > 0) {
      if (used == read) {
        const auto some = std::span(edges_).subspan(read, std::min(together, edges_.size() - read));
        topology_.read_edge_values(some, values_);
        read += some.size();
      }
      const size_t count = std::min(left, read - used);
      const float* const from = values_.data() + (used % together) * width;
      to = std::copy_n(from, count * width, to);
      used += count;
      left -= count;
    }
  }
}

// Replaces neighbours, which are nodes of the graph, with their numbers in the batch. Closes the gaps that
// remain where fewer edges were chosen than there was space for.
void BulkSampler::number(SampledBatch& batch, size_t index) {
  NodeIdMap::Column& tree = trees_[index];
  table_.begin(batch.node, tree, false);
  const size_t before = batch.node.size();
  const auto hop = static_cast<size_t>(batch.nodes_per_hop.back());
  const size_t first = before - hop;
  const size_t begin = hop == 0 ? batch.source.size() : begins_[first_of_[index]];
  const auto width = static_cast<size_t>(topology_.edge_width());
  size_t edges = begin;
  for (size_t i = first; i < before; ++i) {
    size_t from = begins_[first_of_[index] + i - first];
    const int64_t seed = tree[i];
    for (uint32_t j = 0; j < batch.in[i]; ++j, ++from) {
      if (from + kAhead < batch.source.size()) table_.fetch(batch.source[from + kAhead], seed);
      if (edges != from)
        std::copy_n(batch.values.data() + from * width, width, batch.values.data() + edges * width);
      batch.source[edges++] = static_cast<uint32_t>(table_.find_or_add(batch.source[from], seed));
    }
  }
  batch.source.resize(edges);
  batch.values.resize(edges * width);
  batch.nodes_per_hop.push_back(static_cast<int64_t>(batch.node.size() - before));
  batch.edges_per_hop.push_back(static_cast<int64_t>(edges - begin));
}

}  // namespace plimsoll
