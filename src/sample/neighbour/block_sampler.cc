#include "sample/neighbour/block_sampler.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "sample/neighbour/narrow_numbers.h"
#include "sample/neighbour/sample_shape.h"

namespace plimsoll {
namespace {

// Header of a serialised sample.
struct Counts {
  int64_t number;
  uint32_t epoch, nodes, expanded, edges, hops, labels, pairs, edge_width;
};

template <typename T>
void put(Vector<std::byte, Tag::blocks>& to, const T* values, size_t count) {
  if (count == 0) return;
  const size_t begin = to.size();
  to.resize(begin + count * sizeof(T));
  std::memcpy(to.data() + begin, values, count * sizeof(T));
}

void require_bytes(std::span<const std::byte> from, size_t bytes) {
  if (bytes > from.size()) throw Failure("a sample in a scratch file is damaged");
}

template <typename Column>
void get(std::span<const std::byte>& from, Column& column, size_t count) {
  const size_t bytes = count * sizeof(column[0]);
  require_bytes(from, bytes);
  column.resize(count);
  if (bytes > 0) std::memcpy(column.data(), from.data(), bytes);
  from = from.subspan(bytes);
}

template <typename Column>
void take(std::span<const std::byte>& from, Column& column, size_t count) {
  column.resize(count);
  NarrowNumbers::take(from, std::span(column));
}

}  // namespace

GraphShape BlockSample::shape(std::span<GraphShape> prefixes) const {
  GraphShape shape = shape_of_sample(batch, labels, prefixes);
  shape.pairs = static_cast<int32_t>(pair_y.size());
  return shape;
}

void BlockSample::choose_rows(const RowSet* left_out) {
  if (left_out == nullptr) return some_rows.reset();
  if (!some_rows) some_rows.emplace();
  some_rows->clear();
  some_rows->reserve(batch.node.size());
  std::ranges::copy_if(batch.node, std::back_inserter(*some_rows),
                       [&](int64_t node) { return !left_out->has(node); });
}

void BlockSample::reserve(int64_t nodes, int64_t edges, int64_t edge_width) {
  batch.node.reserve(static_cast<size_t>(nodes));
  batch.in.reserve(static_cast<size_t>(nodes));
  batch.source.reserve(static_cast<size_t>(edges));
  batch.values.reserve(static_cast<size_t>(edges * edge_width));
}

int64_t BlockSample::bytes() const {
  return batch.bytes() + (some_rows ? static_cast<int64_t>(some_rows->capacity() * sizeof(int64_t)) : 0);
}

void BlockSample::write(Vector<std::byte, Tag::blocks>& to) const {
  to.clear();
  const auto count = [](const auto& column) { return static_cast<uint32_t>(column.size()); };
  const size_t edge_width = batch.source.empty() ? 0 : batch.values.size() / batch.source.size();
  const Counts counts{number,          batch.epoch,         count(batch.node),
                      count(batch.in), count(batch.source), count(batch.edges_per_hop),
                      count(labels),   count(pair_y),       static_cast<uint32_t>(edge_width)};
  put(to, &counts, 1);
  // 8-byte values come first, so that all values are aligned for their type.
  put(to, batch.nodes_per_hop.data(), batch.nodes_per_hop.size());
  put(to, batch.edges_per_hop.data(), batch.edges_per_hop.size());
  put(to, labels.data(), labels.size());
  put(to, batch.values.data(), batch.values.size());
  put(to, pairs.data(), pairs.size());
  put(to, pair_y.data(), pair_y.size());
  NarrowNumbers::append(std::span(batch.node), to);
  NarrowNumbers::append(std::span(batch.in), to);
  NarrowNumbers::append(std::span(batch.source), to);
  to.resize((to.size() + 7) / 8 * 8);
}

void BlockSample::read(std::span<const std::byte> from) {
  Counts counts;
  require_bytes(from, sizeof(counts));
  std::memcpy(&counts, from.data(), sizeof(counts));
  from = from.subspan(sizeof(counts));
  number = counts.number;
  batch.epoch = counts.epoch;
  get(from, batch.nodes_per_hop, counts.hops + size_t{1});
  get(from, batch.edges_per_hop, counts.hops);
  get(from, labels, counts.labels);
  get(from, batch.values, size_t{counts.edges} * counts.edge_width);
  get(from, pairs, size_t{2} * counts.pairs);
  get(from, pair_y, counts.pairs);
  take(from, batch.node, counts.nodes);
  take(from, batch.in, counts.expanded);
  take(from, batch.source, counts.edges);
}

int64_t BlockSample::max_bytes(const GraphShape& shape, std::span<const GraphShape> prefixes, int64_t hops,
                               int64_t edge_width) {
  constexpr int64_t kWidths = 3;  // One byte for each column of NarrowNumbers.
  // Only seeds have labels, and only nodes that were expanded have in-degrees.
  const int64_t seeds = prefixes.empty() ? shape.nodes : prefixes.front().nodes;
  const int64_t expanded = prefixes.empty() ? shape.nodes : prefixes.back().nodes;
  const int64_t of_nodes = 8 * seeds + 4 * int64_t{shape.nodes} + 4 * expanded;
  return static_cast<int64_t>(sizeof(Counts)) + (2 * hops + 1) * 8 + of_nodes +
         int64_t{shape.edges} * 4 * (1 + edge_width) + int64_t{shape.pairs} * 12 + kWidths + 8;
}

BlockSampler::BlockSampler(const From& from)
    : blocks_(from.blocks), topology_(from.topology), neighbours_(from.topology, from.neighbours, from.seed) {
  if (from.negatives) links_.emplace(from.topology, from.graph, *from.negatives, from.seed);
  if (from.negatives && from.exclude_targets) targets_.emplace();
}

// Edges come before pairs without an edge. The two ends are indices into the seeds.
void BlockSampler::find_targets(std::span<const BlockSample> samples) {
  targets_->clear();
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto& pairs = samples[i].pairs;
    const auto& nodes = samples[i].batch.node;
    const auto edges = static_cast<size_t>(samples[i].targets());
    for (size_t p = 0; p < edges; ++p)
      targets_->add(static_cast<uint32_t>(i), nodes[static_cast<size_t>(pairs[2 * p])],
                    nodes[static_cast<size_t>(pairs[2 * p + 1])]);
  }
  targets_->find(topology_);
}

bool BlockSampler::sample(std::span<const int64_t> numbers, std::span<BlockSample> samples,
                          const std::stop_token& stop) {
  batches_.resize(std::max(batches_.size(), numbers.size()));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const SeedBlocks::Block block = blocks_.block(numbers[i]);
    BlockSample& sample = samples[i];
    sample.number = numbers[i];
    sample.batch.epoch = block.epoch;
    if (links_)
      links_->make(blocks_, block, sample.batch.node, sample.pairs, sample.pair_y);
    else
      blocks_.seeds(block, sample.batch.node, sample.labels);
  }
  if (targets_) find_targets(samples.first(numbers.size()));
  for (size_t i = 0; i < numbers.size(); ++i) std::swap(batches_[i], samples[i].batch);
  bool sampled = false;
  try {
    sampled =
        neighbours_.sample(std::span(batches_).first(numbers.size()), stop, targets_ ? &*targets_ : nullptr);
  } catch (...) {
    batches_.clear();
    throw;
  }
  for (size_t i = 0; i < numbers.size(); ++i) std::swap(batches_[i], samples[i].batch);
  return sampled;
}

}  // namespace plimsoll
