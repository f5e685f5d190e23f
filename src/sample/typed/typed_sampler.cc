#include "sample/typed/typed_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "sample/seeds/draws.h"
#include "sample/topology/damaged_topology.h"

namespace plimsoll {
namespace {

constexpr size_t kTypedSlotsAhead = 8;     // Distance of the prefetch of slots, in nodes.
constexpr int64_t kMaxTypedDraws = 65536;  // Maximum draws for one node with replacement.
constexpr int64_t kFirstTime = std::numeric_limits<int64_t>::min();
constexpr int64_t kLastTime = std::numeric_limits<int64_t>::max();

void require_fan_outs(const TypedOptions& options, size_t edge_types) {
  if (options.fan_outs.size() != edge_types)
    throw UsageError(fmt::format("found fan-outs for {} edge types, expected fan-outs for each of {}",
                                 options.fan_outs.size(), edge_types));
  for (const std::vector<int64_t>& hops : options.fan_outs) {
    if (hops.size() != options.fan_outs.front().size())
      throw UsageError(
          fmt::format("found fan-outs of {} and {} hops, expected the same number for all edge types",
                      options.fan_outs.front().size(), hops.size()));
    for (const int64_t fan_out : hops) {
      if (fan_out < NeighbourChoice::kAll)
        throw UsageError(
            fmt::format("found a fan-out of {}, expected -1 for all neighbours, 0 or more", fan_out));
      if (options.replace && fan_out > kMaxTypedDraws)
        throw UsageError(fmt::format("found a fan-out of {} with replacement, expected at most {}", fan_out,
                                     kMaxTypedDraws));
    }
  }
}

// Returns the span of times at which edges are known to a seed with this time, which is not kFirstTime.
TimeSpan known_times(int64_t time, const TypedOptions& options) {
  TimeSpan span{kFirstTime, options.before ? time - 1 : time};
  if (options.window && time >= kFirstTime + *options.window) span.first = time - *options.window;
  return span;
}

}  // namespace

TypedSampler::TypedSampler(const TypedTopology& topology, TypedOptions options, uint64_t seed)
    : topology_(topology),
      options_(std::move(options)),
      seed_(seed),
      known_(topology),
      tables_(topology.nodes().size()),
      expanded_(topology.nodes().size()) {
  require_fan_outs(options_, topology.edges().size());
  if (options_.window && *options_.window < 0)
    throw UsageError(fmt::format("found a window of {}, expected 0 or more", *options_.window));
}

void TypedSampler::sample(std::span<const TypedSeeds> seeds, uint32_t epoch, TypedSample& out) {
  begin(seeds, epoch, out);
  const size_t hops = options_.fan_outs.empty() ? 0 : options_.fan_outs.front().size();
  for (size_t hop = 0; hop < hops; ++hop) {
    for (size_t type = 0; type < expanded_.size(); ++type) expanded_[type].end = out.nodes[type].node.size();
    for (size_t type = 0; type < out.edges.size(); ++type) expand(type, hop, out);
    for (size_t type = 0; type < expanded_.size(); ++type) {
      TypedSample::Nodes& nodes = out.nodes[type];
      nodes.per_hop.push_back(static_cast<int64_t>(nodes.node.size() - expanded_[type].end));
      expanded_[type].first = expanded_[type].end;
    }
  }
}

void TypedSampler::begin(std::span<const TypedSeeds> seeds, uint32_t epoch, TypedSample& out) {
  out.nodes.resize(topology_.nodes().size());
  out.edges.resize(topology_.edges().size());
  for (TypedSample::Nodes& nodes : out.nodes)
    for (TypedSample::Column* column : {&nodes.node, &nodes.batch, &nodes.per_hop}) column->clear();
  for (TypedSample::Edges& edges : out.edges)
    for (TypedSample::Column* column : {&edges.row, &edges.col, &edges.edge, &edges.per_hop}) column->clear();
  keys_.clear();
  spans_.clear();
  scratch_sizes_.assign(topology_.edges().size() + kScratchSizes, 0);
  is_timed_ = std::ranges::any_of(seeds, [](const TypedSeeds& some) { return !some.times.empty(); });
  for (const TypedSeeds& some : seeds) add_seeds(some, epoch, out);
  for (size_t type = 0; type < out.nodes.size(); ++type) {
    TypedSample::Nodes& nodes = out.nodes[type];
    expanded_[type] = {};
    nodes.per_hop.push_back(static_cast<int64_t>(nodes.node.size()));
    tables_[type].begin(nodes.node, nodes.batch, options_.disjoint || is_timed_);
  }
}

void TypedSampler::raise(size_t place, size_t size) {
  scratch_sizes_[place] = std::max(scratch_sizes_[place], static_cast<int64_t>(size));
}

void TypedSampler::add_seeds(const TypedSeeds& seeds, uint32_t epoch, TypedSample& out) {
  if (seeds.type >= out.nodes.size())
    throw UsageError(
        fmt::format("seeds: found node type {}, expected a number below {}", seeds.type, out.nodes.size()));
  TypedSample::Nodes& nodes = out.nodes[seeds.type];
  if (!nodes.node.empty()) throw UsageError(fmt::format("seeds: node type {} occurs twice", seeds.type));
  if (!seeds.times.empty() && seeds.times.size() != seeds.nodes.size())
    throw UsageError(fmt::format("seeds: found {} times, expected one for each of {} seeds",
                                 seeds.times.size(), seeds.nodes.size()));
  require_nodes(seeds.nodes, topology_.nodes()[seeds.type].nodes);
  for (size_t i = 0; i < seeds.nodes.size(); ++i) {
    uint64_t key = item_key(seed_, Purpose::neighbours, epoch, seeds.nodes[i]);
    const bool has_time = !seeds.times.empty();
    const int64_t time = has_time ? seeds.times[i] : 0;
    if (has_time && time == kFirstTime)
      throw UsageError(fmt::format("seeds: node {} has no time; leave it out", seeds.nodes[i]));
    if (has_time || seeds.type != 0)
      key = typed_key(key, Purpose::neighbours, static_cast<uint32_t>(seeds.type), time);
    nodes.node.push_back(seeds.nodes[i]);
    nodes.batch.push_back(static_cast<int64_t>(keys_.size()));
    keys_.push_back(key);
    spans_.push_back(has_time ? known_times(time, options_) : TimeSpan{kFirstTime, kLastTime});
  }
}

void TypedSampler::expand(size_t edge_type, size_t hop, TypedSample& out) {
  TypedSample::Edges& edges = out.edges[edge_type];
  const size_t first_edge = edges.edge.size();
  const int64_t fan_out = options_.fan_outs[edge_type][hop];
  const size_t target = topology_.edges()[edge_type].target;
  const Expanded& expanded = expanded_[target];
  if (fan_out != 0 && expanded.first != expanded.end) {
    lists_.resize(expanded.end - expanded.first);
    topology_.lists(edge_type).read_lists(
        std::span(out.nodes[target].node).subspan(expanded.first, lists_.size()), lists_);
    if (is_timed_) restrict_lists(edge_type, hop, out.nodes[target]);
    choose(edge_type, fan_out, out);
    edges.row.resize(edges.edge.size());
    topology_.lists(edge_type).read_neighbours(std::span(edges.edge).subspan(first_edge),
                                               std::span(edges.row).subspan(first_edge));
    number(edge_type, first_edge, out);
  }
  edges.per_hop.push_back(static_cast<int64_t>(edges.edge.size() - first_edge));
}

// Shortens the lists of the expanded nodes to the edges that their seeds know.
void TypedSampler::restrict_lists(size_t edge_type, size_t hop, const TypedSample::Nodes& targets) {
  const EdgeTime has_time = topology_.edges()[edge_type].has_time;
  // A sampled node is never later than its seed, so without a window the seed knows all edges that have the
  // node's time.
  if (has_time == EdgeTime::none || (has_time == EdgeTime::target && hop > 0 && !options_.window)) return;
  const size_t first = expanded_[topology_.edges()[edge_type].target].first;
  for (size_t i = 0; i < lists_.size(); ++i)
    lists_[i] = known_.within(edge_type, targets.node[first + i], lists_[i],
                              spans_[static_cast<size_t>(targets.batch[first + i])]);
}

// Appends the chosen edges of the expanded nodes, each with the number of the node for which it was chosen.
void TypedSampler::choose(size_t edge_type, int64_t fan_out, TypedSample& out) {
  TypedSample::Edges& edges = out.edges[edge_type];
  const TypedSample::Nodes& targets = out.nodes[topology_.edges()[edge_type].target];
  const size_t first = expanded_[topology_.edges()[edge_type].target].first;
  size_t count = edges.edge.size();
  size_t max = count;
  for (const EdgeRange& list : lists_) {
    max += static_cast<size_t>(NeighbourChoice::max(list.degree, fan_out, options_.replace));
    raise(kLongestList, static_cast<size_t>(list.degree));
  }
  raise(edge_type, max);
  raise(kLists, lists_.size());
  edges.edge.resize(max);
  edges.col.resize(max);
  for (size_t i = 0; i < lists_.size(); ++i) {
    const int64_t chosen =
        choose_from(edge_type, lists_[i], fan_out, static_cast<size_t>(targets.batch[first + i]),
                    targets.node[first + i], edges.edge.data() + count);
    for (int64_t j = 0; j < chosen; ++j) edges.col[count++] = static_cast<int64_t>(first + i);
  }
  edges.edge.resize(count);
  edges.col.resize(count);
}

int64_t TypedSampler::choose_from(size_t edge_type, EdgeRange list, int64_t fan_out, size_t tree,
                                  int64_t node, int64_t* to) {
  NeighbourChoice::Without without;
  if (is_timed_ && known_.may_have_gaps(edge_type)) without = known_.gaps(edge_type, list, spans_[tree].last);
  raise(kGaps, without.size());
  if (is_timed_ && options_.strategy == TemporalStrategy::last && fan_out >= 0)
    list = latest_edges(list, fan_out, without);
  Draws draws(keys_[tree], Purpose::neighbours, static_cast<uint64_t>(node),
              static_cast<uint32_t>(edge_type));
  const CsrTopology& lists = topology_.lists(edge_type);
  return options_.weighted && lists.weighted()
             ? choice_.weighted(lists, list, fan_out, options_.replace, draws, to, without)
             : choice_.uniform(list, fan_out, options_.replace, draws, to, without);
}

// Replaces the neighbours of new edges, which are nodes of the graph, with their numbers in the sample.
void TypedSampler::number(size_t edge_type, size_t first_edge, TypedSample& out) {
  TypedSample::Edges& edges = out.edges[edge_type];
  const TypedSample::Nodes& targets = out.nodes[topology_.edges()[edge_type].target];
  NodeIdMap& table = tables_[topology_.edges()[edge_type].source];
  const auto tree = [&](size_t i) { return targets.batch[static_cast<size_t>(edges.col[i])]; };
  if (is_timed_)
    known_.require_known(edge_type, std::span(edges.edge).subspan(first_edge),
                         std::span(edges.row).subspan(first_edge),
                         [&](size_t i) { return spans_[static_cast<size_t>(tree(first_edge + i))]; });
  for (size_t i = first_edge; i < edges.row.size(); ++i) {
    if (i + kTypedSlotsAhead < edges.row.size())
      table.fetch(edges.row[i + kTypedSlotsAhead], tree(i + kTypedSlotsAhead));
    edges.row[i] = table.find_or_add(edges.row[i], tree(i));
  }
}

}  // namespace plimsoll
