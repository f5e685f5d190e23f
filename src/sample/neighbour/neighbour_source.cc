#include "sample/neighbour/neighbour_source.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/workers.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"
#include "sample/neighbour/in_memory_prefetcher.h"
#include "sample/neighbour/on_disk_prefetcher.h"
#include "sample/neighbour/sample_shape.h"
#include "sample/seeds/seed_lists.h"

namespace plimsoll {
namespace {

// How often a node is used is counted in so many blocks that it is so often on average.
constexpr int64_t kCountedUses = 16;
constexpr int64_t kLargestGroup = 1024;
// Holes that samples of other sizes leave in the heap. With 512 KiB one run of link prediction in 200 was
// over its budget, by up to 71 KiB.
constexpr int64_t kBesideSamples = 768 * 1024;

// No further than a byte has room for.
void count_use(uint8_t& uses) {
  const std::atomic_ref counted(uses);
  for (uint8_t before = counted.load(std::memory_order_relaxed);
       before < std::numeric_limits<uint8_t>::max();)
    if (counted.compare_exchange_weak(before, before + 1, std::memory_order_relaxed)) return;
}

RowCounters sum(RowCounters a, const RowCounters& b) {
  a.hits += b.hits;
  a.misses += b.misses;
  a.bytes_useful += b.bytes_useful;
  a.bytes_read += b.bytes_read;
  a.bytes_written += b.bytes_written;
  a.waited_seconds += b.waited_seconds;
  return a;
}

}  // namespace

NeighbourSource::NeighbourSource(const std::filesystem::path& folder, const NeighbourSourceOptions& options)
    : graph_(folder),
      options_(options),
      topology_(graph_),
      blocks_(options.negatives ? edge_lists(graph_, options.splits) : node_lists(graph_, options.splits),
              options.blocks),
      width_(graph_.node_features()),
      rows_(FeatureFile::column(graph_.set(), "x")),
      reader_(rows_.path, rows_.layout()),
      sampler_(sampled_from()) {
  tables_.node_features = graph_.tables().node_features;
}

BlockSampler::From NeighbourSource::sampled_from() const {
  return {topology_, graph_, blocks_, options_.neighbours, options_.seed, options_.negatives};
}

// Blocks are sampled in groups, as large as a part of what the budget leaves has room for.
void NeighbourSource::sample_all(int threads, Vector<GraphShape, Tag::columns>& shapes) const {
  // Nothing else needs the memory yet.
  const Ledger& ledger = Ledger::process();
  const bool unlimited = ledger.cap() == Ledger::kUnlimited;
  const int64_t left = unlimited ? 0 : ledger.cap() - ledger.held();
  const bool in_memory = unlimited || left / 4 * 3 >= topology_.most_bytes();
  resize_topology(in_memory ? topology_.most_bytes() : left / 2);
  const int64_t room = left / (in_memory ? 8 : 4) / threads;
  struct Own {
    BlockSampler sampler;
    Vector<BlockSample, Tag::blocks> samples = {};
    std::vector<int64_t> numbers = {};
  };
  std::vector<Own> own;
  for (int i = 0; i < threads; ++i) own.push_back({BlockSampler(sampled_from())});
  std::atomic<int64_t> largest = 0;  // bytes of a block, so far
  int64_t next = 0;
  sampler_.sample(0, sample_);
  const int64_t counted = kCountedUses * graph_.nodes() / sample_.batch.nodes();
  const int64_t step = std::max<int64_t>(1, graphs() / std::max<int64_t>(1, counted));
  const auto take = [&](int64_t, int worker) {
    if (interrupt_requested) throw Interrupted("interrupted while the blocks of the run were sampled");
    Own& mine = own[static_cast<size_t>(worker)];
    const int64_t most = in_memory ? CacheShares::kGroupInMemory : kLargestGroup;
    const int64_t count = std::clamp<int64_t>(largest == 0 ? 1 : room / (2 * largest), 1, most);
    mine.numbers.resize(static_cast<size_t>(std::min(count, graphs() - next)));
    std::iota(mine.numbers.begin(), mine.numbers.end(), next);
    next += std::ssize(mine.numbers);
    return !mine.numbers.empty();
  };
  const auto work = [&](int64_t, Turn& turn) {
    Own& mine = own[static_cast<size_t>(turn.worker())];
    mine.samples.resize(std::max(mine.samples.size(), mine.numbers.size()));
    mine.sampler.sample(mine.numbers, mine.samples);
    for (size_t i = 0; i < mine.numbers.size(); ++i) {
      const BlockSample& sample = mine.samples[i];
      const int64_t number = mine.numbers[i];
      const GraphShape shape =
          sample.shape(std::span(prefix_shapes_)
                           .subspan(static_cast<size_t>(number * hops()), static_cast<size_t>(hops())));
      shapes[static_cast<size_t>(number)] = shape;
      const int64_t bytes = BulkSampler::bytes_for(shape.nodes, shape.edges);
      for (int64_t before = largest; before < bytes && !largest.compare_exchange_weak(before, bytes);) {
      }
      if (number % step != 0) continue;
      for (const int64_t node : sample.batch.node) count_use(uses_[static_cast<size_t>(node)]);
    }
  };
  Workers(threads).run_stream(take, work);
}

Vector<GraphShape, Tag::columns> NeighbourSource::shapes(int threads) const {
  Vector<GraphShape, Tag::columns> shapes(static_cast<size_t>(graphs()));
  uses_.assign(static_cast<size_t>(graph_.nodes()), 0);
  prefix_shapes_.resize(static_cast<size_t>(graphs() * hops()));
  sample_all(threads, shapes);
  resize_topology(0);
  give_back_freed_memory();
  // What is read needs room that does not grow once the run is planned.
  const std::lock_guard lock(mutex_);
  sizes_ = SampleSizes::of(shapes, hops());
  for (const auto of : {&GraphShape::nodes, &GraphShape::edges})
    sampler_.sample(std::ranges::max_element(shapes, {}, of) - shapes.begin(), sample_);
  wanted_.reserve(sample_.batch.node.capacity());
  beside_ = Charge(Tag::blocks, kBesideSamples + sample_.batch.bytes());
  return shapes;
}

void NeighbourSource::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  const std::shared_lock lock(coming_mutex_);
  block.clear();
  for (const int64_t number : graphs) append(number, block);
}

// Returns where the features of its nodes go.
std::byte* NeighbourSource::append_graph(int64_t number, const BlockSample& sample, GraphBlock& block) const {
  const SampledBatch& batch = sample.batch;
  const size_t first = block.node_y.size();
  const auto first_node = static_cast<int32_t>(block.nodes());
  for (const int32_t node : sample.pairs) block.pairs.push_back(first_node + node);
  block.pair_y.insert(block.pair_y.end(), sample.pair_y.begin(), sample.pair_y.end());
  const size_t begin = block.x.size();
  block.graph.push_back(number);
  block.node_ptr.push_back(block.node_ptr.back() + batch.nodes());
  block.edge_ptr.push_back(block.edge_ptr.back() + batch.edges());
  block.y.push_back(0);
  block.node_y.insert(block.node_y.end(), sample.labels.begin(), sample.labels.end());
  block.node_y.resize(first + batch.node.size(), -1);
  batch.each_edge([&](uint32_t source, uint32_t target) {
    block.edges.push_back(static_cast<int32_t>(source));
    block.edges.push_back(static_cast<int32_t>(target));
  });
  append_prefixes(batch, block.prefixes);
  block.x.resize(begin + batch.node.size() * static_cast<size_t>(width_));
  return reinterpret_cast<std::byte*>(block.x.data() + begin);
}

void NeighbourSource::append(int64_t number, GraphBlock& block) const {
  const auto place = [&](const BlockSample& sample) { return append_graph(number, sample, block); };
  if (coming_ && coming_->read(number, place)) return;
  const std::lock_guard lock(mutex_);
  sampler_.sample(number, sample_);
  read_rows(sample_.batch.node, reinterpret_cast<float*>(place(sample_)));
}

void NeighbourSource::read_rows(std::span<const int64_t> nodes, float* out) const {
  const int64_t row_bytes = rows_.layout().row_bytes;
  const std::span x(out, nodes.size() * static_cast<size_t>(width_));
  std::byte* to = rows_.values.packed_in(x);
  wanted_.clear();
  for (const int64_t node : nodes) {
    wanted_.push_back({node, to});
    to += row_bytes;
  }
  const auto start = std::chrono::steady_clock::now();
  reader_.read(wanted_);
  rows_.values.widen_in_place(x);
  before_.waited_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  before_.misses += static_cast<int64_t>(nodes.size());
  before_.bytes_useful += static_cast<int64_t>(nodes.size()) * row_bytes;
}

void NeighbourSource::resize_topology(int64_t bytes) const {
  topology_.resize(std::clamp(bytes, topology_.least_bytes(), topology_.most_bytes()));
}

int64_t NeighbourSource::most_cache_bytes() const {
  const int64_t lists_and_rows = topology_.most_bytes() + SharedScan::most_bytes(rows_.layout());
  return lists_and_rows + lists_and_rows / 8 + (1 << 20);
}

void NeighbourSource::resize_cache(int64_t bytes, const std::filesystem::path& scratch) const {
  const std::unique_lock lock(coming_mutex_);
  if (coming_) before_ = sum(before_, coming_->counters());
  coming_.reset();
  resize_topology(topology_.least_bytes());
  if (bytes <= 0) return;
  if (sizes_.most_bytes == 0) guess_sizes();
  CacheInput input{.bytes = bytes,
                   .sizes = sizes_,
                   .rows = rows_,
                   .hops = hops(),
                   .topology_bytes = topology_.most_bytes() - topology_.least_bytes(),
                   .scratch_bytes = scratch.empty() ? 0 : scratch_bytes(),
                   .uses = uses_};
  CacheShares shares = divide_cache(input);
  std::optional<ScratchFile> file;
  if (shares.scratch_bytes > 0) file = ScratchFile::make(scratch, shares.scratch_bytes);
  if (shares.scratch_bytes > 0 && !file) {  // the disk has no room
    input.scratch_bytes = 0;
    shares = divide_cache(input);
  }
  try {
    begin_coming(bytes, shares, std::move(file));
  } catch (const BudgetExceeded&) {
    resize_topology(topology_.least_bytes());
    throw;
  }
}

// Blocks of a run that was not sampled as a whole are taken to be no more than twice as large as the first.
void NeighbourSource::guess_sizes() const {
  sampler_.sample(0, sample_);
  const GraphShape shape = sample_.shape({});
  sizes_ = SampleSizes::of(std::span(&shape, 1), hops());
  sizes_.most_bytes *= 2;
  sizes_.most_nodes *= 2;
  sizes_.most_note *= 2;
}

void NeighbourSource::begin_coming(int64_t bytes, const CacheShares& shares,
                                   std::optional<ScratchFile> scratch) const {
  const int64_t least = topology_.least_bytes();
  const int64_t ahead = std::max(shares.ahead_bytes, sizes_.most_bytes);
  const int64_t rows = bytes - ahead - (shares.topology ? topology_.most_bytes() - least : 0);
  if (!scratch && rows < SharedScan::least_bytes(rows_.layout())) return resize_topology(least + bytes);
  if (shares.topology) resize_topology(topology_.most_bytes());
  if (scratch) {
    const SpilledFeatures::Options packs{rows, scratch->bytes(), sizes_.most_nodes, sizes_.most_note};
    coming_ = std::make_unique<OnDiskPrefetcher>(rows_, sampled_from(), std::move(*scratch), uses_,
                                                 OnDiskPrefetcher::Options{packs, shares.group});
  } else {
    const int64_t of_sweep = std::min(rows, SharedScan::most_bytes(rows_.layout()));
    const int64_t most_group = std::min(kLargestGroup, ahead / sizes_.most_bytes);
    coming_ = std::make_unique<InMemoryPrefetcher>(
        rows_, sampled_from(), uses_,
        InMemoryPrefetcher::Options{of_sweep, ahead, sizes_.most_bytes,
                                    std::clamp<int64_t>(shares.group, 1, most_group)});
  }
}

// As much as the set takes with features as f32: the disk then holds twice as much as without, or thrice
// where they are narrow.
int64_t NeighbourSource::scratch_bytes() const {
  if (options_.scratch_bytes) return *options_.scratch_bytes;
  return rows_.rows * rows_.width * static_cast<int64_t>(sizeof(float)) + topology_.most_bytes();
}

int64_t NeighbourSource::planned() const {
  const std::shared_lock lock(coming_mutex_);
  return coming_ ? coming_->planned() : 0;
}

std::optional<RowCounters> NeighbourSource::row_counters() const {
  const std::shared_lock shared(coming_mutex_);
  const std::lock_guard lock(mutex_);
  RowCounters counters = before_;
  counters.bytes_read += reader_.counts().bytes_read;
  return coming_ ? sum(counters, coming_->counters()) : counters;
}

}  // namespace plimsoll
