#include "sample/neighbour/neighbour_source.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/seconds.h"
#include "base/workers.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"
#include "rows/shared_scan.h"
#include "sample/neighbour/sample_shape.h"
#include "sample/neighbour/shape_bound.h"
#include "sample/seeds/seed_lists.h"

namespace plimsoll {
namespace {

// Uses are counted in as many blocks as are needed to use each row this many times on average.
constexpr int64_t kCountedUses = 16;
// Samples may use 1/kSamplesShare of the disk space. They are read once or twice, like rows in packs.
constexpr int64_t kSamplesShare = 2;
// Samples are stored if there is space for the validation samples and for 1/kMinEpochs of an epoch.
constexpr int64_t kMinEpochs = 4;
// Minimum number of training blocks that are sampled before a run, which is enough to bound the sizes of the
// other blocks.
constexpr int64_t kMinSampledBlocks = 256;
// Samples are written when they are first made if the remaining memory is this many times the write buffers.
constexpr int64_t kMinMemoryPerBuffer = 32;
// Number of blocks whose samples fit into the largest cache. In a small graph, samples may need more memory
// than the graph's rows.
constexpr int64_t kSamplesAhead = 8;
// Maximum disk space, as a multiple of the data set with features as f32.
constexpr int64_t kScratchOfData = 4;
constexpr int64_t kSmallGraphScratch = int64_t{2} << 30;
// Allowance for holes that samples of different sizes leave in the heap. With 512 KiB, one of 200 runs of
// link prediction exceeded its budget, by up to 71 KiB.
constexpr int64_t kSampleOverhead = 768 * 1024;

// Counts one use, up to 255.
void count_use(uint8_t& uses) {
  const std::atomic_ref counted(uses);
  for (uint8_t before = counted.load(std::memory_order_relaxed);
       before < std::numeric_limits<uint8_t>::max();)
    if (counted.compare_exchange_weak(before, before + 1, std::memory_order_relaxed)) return;
}

}  // namespace

NeighbourSource::NeighbourSource(const std::filesystem::path& folder, const NeighbourSourceOptions& options)
    : graph_(folder),
      options_(options),
      topology_(graph_, {}, options.edges),
      blocks_(options.negatives ? edge_lists(graph_, options.splits)
                                : node_lists(graph_, options.splits, options.labels),
              options.blocks),
      width_(std::max<int64_t>(graph_.node_features(), 1)),
      numbers_(numbers_for(graph_)),
      rows_(numbers_ ? numbers_->file() : FeatureFile::column(graph_.set(), "x")),
      direct_(rows_),
      sampler_(sampled_from()) {
  tables_.node_features = graph_.tables().node_features;
  if (options.row_places) left_out_.emplace(uses_, graph_.nodes());
  if (options.edges.weight) tables_.edge_features.emplace_back("edge_weight");
  if (options.edges.features)
    std::ranges::copy(graph_.tables().edge_features, std::back_inserter(tables_.edge_features));
}

BlockSampler::From NeighbourSource::sampled_from() const {
  return {topology_,
          graph_,
          blocks_,
          options_.neighbours,
          options_.seed,
          options_.negatives,
          options_.exclude_targets};
}

// Called while nothing else needs the memory. If blocks are larger than the division of memory assumes, all
// of them are sampled again with the minimum memory, so the division never determines whether a budget is
// large enough.
void NeighbourSource::sample_all(int threads, const SampleSizes& first,
                                 Vector<GraphShape, Tag::columns>& shapes) const {
  const Ledger& ledger = Ledger::process();
  const bool unlimited = ledger.cap() == Ledger::kUnlimited;
  const int64_t left = unlimited ? std::numeric_limits<int64_t>::max() / 2 : ledger.cap() - ledger.held();
  const bool keeps = kept_ && left >= kMinMemoryPerBuffer * SampleFile::kBuffer;
  try {
    if (keeps) kept_->begin();
    const StreamSpace space = stream_space(first);
    const auto shares = SamplingShares::of(left, topology_, first.max_bytes, threads,
                                           can_sample_in_ranges(sampled_from(), space) ? first.max_bytes : 0);
    sample_all(shares, space, keeps, shapes);
    if (keeps) kept_->finish();
  } catch (const BudgetExceeded&) {
    if (keeps) kept_->finish();  // Samples written so far are kept.
    sample_all(SamplingShares::min(topology_), {}, /*keeps=*/false, shapes);
  }
}

void NeighbourSource::sample_all(const SamplingShares& shares, const StreamSpace& space, bool keeps,
                                 Vector<GraphShape, Tag::columns>& shapes) const {
  std::ranges::fill(uses_, uint8_t{0});
  int64_t counted = kCountedUses * graph_.nodes();
  {
    const MutexLock lock(mutex_);
    counted /= sample_.batch.nodes();
  }
  const int64_t total = sampled_blocks();
  const int64_t step = std::max<int64_t>(1, total / std::max<int64_t>(1, counted));
  counted_blocks_ = (total + step - 1) / step;
  Vector<std::byte, Tag::blocks> note;
  bool has_room = keeps;
  // Each hop that is read in ranges counts as part of the sampling of a block.
  const int64_t passes = shares.stream_bytes > 0 ? hops() + 1 : 1;
  Mutex progress_mutex;
  int64_t passed = 0;
  const auto count_pass = [&](int64_t some) {
    if (!progress_) return;
    const MutexLock lock(progress_mutex);
    passed += some;
    progress_(std::min(passed / passes, total), total);
  };
  const auto use = [&](std::span<const BlockSample> group, Turn& turn) {
    for (const BlockSample& sample : group) {
      const size_t place = bounded_.place_of(sample.number);
      const auto of_hops = static_cast<size_t>(hops());
      shapes[place] = sample.shape(std::span(prefix_shapes_).subspan(place * of_hops, of_hops));
      if (static_cast<int64_t>(place) % step != 0) continue;
      for (const int64_t node : sample.batch.node) count_use(uses_[static_cast<size_t>(node)]);
    }
    count_pass(std::ssize(group));
    if (!keeps) return true;
    turn.wait();
    for (const BlockSample& sample : group) {
      if (!has_room) break;
      sample.write(note);
      has_room = kept_->add(sample.number, note);
    }
    return true;
  };
  // Validation blocks are read in each epoch, so their samples are stored first.
  const BlockNumbers all[] = {{blocks_.training_blocks(), graphs()},
                              {0, bounded_.empty() ? blocks_.training_blocks() : bounded_.first}};
  const StreamBytes streams =
      sample_blocks(sampled_from(), topology_, shares, all, space, use, [&] { count_pass(1); });
  const ExclusiveLock lock(cache_mutex_);
  earlier_counters_.bytes_read += streams.read;
  earlier_counters_.bytes_written += streams.written;
}

// Returns the disk space that sampling may use in addition to the file that stores the samples.
StreamSpace NeighbourSource::stream_space(const SampleSizes& sizes) const {
  const ScratchSpace& scratch = options_.scratch;
  return {.folder = scratch.folder.empty() ? scratch.temporary : scratch.folder,
          .bytes = scratch_bytes() - (kept_ ? kept_->file_bytes() : 0),
          .nodes = sizes.nodes,
          .edges = sizes.edges};
}

// Makes the file for samples, after guess_sizes(). Makes no file if it would hold too small a part of an
// epoch.
void NeighbourSource::keep_samples() const {
  kept_.reset();
  if (options_.scratch.folder.empty()) return;
  Vector<std::byte, Tag::blocks> first;
  sample_.write(first);
  // Bytes of an average block, plus a reserve.
  const int64_t of_block = std::ssize(first) + std::ssize(first) / 2;
  const int64_t shortest = std::ssize(first) / 2;
  const int64_t bytes = sample_file_bytes(of_block, ScratchFile::room(options_.scratch.folder));
  if (bytes == 0) return;
  const int64_t samples = std::min(graphs(), bytes / std::max<int64_t>(shortest, 1));
  if (auto file = ScratchFile::make(options_.scratch.folder, SampleFile::file_bytes_for(samples, bytes)))
    kept_.emplace(std::move(*file), samples);
}

// Returns the bytes of the file for samples of `of_block` bytes per block, given `room` bytes of disk space;
// 0 if the space is too small for the minimum part of an epoch.
int64_t NeighbourSource::sample_file_bytes(int64_t of_block, int64_t room) const {
  const int64_t bytes = std::min(of_block * graphs(), std::min(scratch_bytes(), room) / kSamplesShare);
  const int64_t validating = graphs() - blocks_.training_blocks();
  return bytes < of_block * (validating + blocks_.per_epoch() / kMinEpochs) ? 0 : bytes;
}

Vector<GraphShape, Tag::columns> NeighbourSource::shapes(int threads) const {
  const auto start = std::chrono::steady_clock::now();
  before_start_up_ = counters_of_start_up();
  SampleSizes first;
  {
    const MutexLock lock(mutex_);
    first = guess_sizes();
    keep_samples();
    seeds_.reserve(sample_.batch.node.size());
    labels_.reserve(sample_.batch.node.size());
  }
  bounded_ = later_blocks();
  Vector<GraphShape, Tag::columns> shapes(static_cast<size_t>(bounded_.places(graphs())));
  uses_.assign(static_cast<size_t>(graph_.nodes()), 0);
  if (left_out_) left_out_->clear();  // Allocates the counts of its own while memory is free.
  prefix_shapes_.resize(shapes.size() * static_cast<size_t>(hops()));
  sample_all(threads, first, shapes);
  if (!bounded_.empty()) set_bounds(shapes, prefix_shapes_, bounded_, graph_.nodes());
  if (left_out_) left_out_->clear();
  sizes_ = sizes_of(shapes, prefix_shapes_);
  threads_ = threads;
  // The memory for reading must not grow after the run is planned.
  try {
    sample_largest(shapes);  // The lists of the largest blocks are in memory if all lists fit.
  } catch (const BudgetExceeded&) {
    resize_topology(0);
    sample_largest(shapes);
  }
  resize_topology(0);
  give_back_freed_memory();
  const MutexLock lock(mutex_);
  direct_.reserve(static_cast<int64_t>(sample_.batch.node.capacity()));
  sample_.choose_rows(left_out());
  if (sample_.some_rows) sample_.some_rows->reserve(sample_.batch.node.capacity());
  overhead_ = Charge(Tag::blocks, kSampleOverhead + sample_.bytes());
  start_up_ = {.graphs = sampled_blocks(), .seconds = seconds_since(start)};
  is_starting_ = true;
  return shapes;
}

// Returns the blocks that are sampled when their epoch starts. There are none if a node may have any number
// of neighbours, because samples then give no bound for later samples. There are also none without a file for
// samples, because blocks in flight would have to share their memory with sampling.
BoundedGraphs NeighbourSource::later_blocks() const {
  const bool is_limited =
      std::ranges::all_of(options_.neighbours.fan_outs, [](int64_t fan_out) { return fan_out >= 0; });
  const bool has_file =
      options_.scratch.folder.empty() ? !options_.scratch.temporary.empty() : kept_.has_value();
  if (!is_limited || !has_file || blocks_.per_epoch() == 0) return {};
  const int64_t epochs = (kMinSampledBlocks + blocks_.per_epoch() - 1) / blocks_.per_epoch();
  const int64_t all = blocks_.training_blocks();
  return {std::min(epochs * blocks_.per_epoch(), all), all};
}

void NeighbourSource::count_items(int64_t graph, GraphShape& shape) const {
  const SeedBlocks::Block block = blocks_.block(graph);
  if (options_.negatives) {
    shape.pairs = static_cast<int32_t>(block.count * (1 + *options_.negatives));
    return;
  }
  const MutexLock lock(mutex_);
  blocks_.seeds(block, seeds_, labels_);
  shape.labelled_nodes =
      static_cast<int32_t>(std::ranges::count_if(labels_, [](int64_t label) { return label >= 0; }));
}

// Samples the block with the most nodes and the block with the most edges, which are often the same.
void NeighbourSource::sample_largest(std::span<const GraphShape> shapes) const {
  const MutexLock lock(mutex_);
  const auto largest_by = [&](int32_t GraphShape::*size) {
    int64_t largest = 0;
    for (int64_t number = 1; number < graphs(); ++number)
      if (!bounded_.contains(number) &&
          shapes[bounded_.place_of(number)].*size > shapes[bounded_.place_of(largest)].*size)
        largest = number;
    return largest;
  };
  const int64_t nodes = largest_by(&GraphShape::nodes);
  const int64_t edges = largest_by(&GraphShape::edges);
  sampler_.sample(nodes, sample_);
  if (edges != nodes) sampler_.sample(edges, sample_);
  if (bounded_.empty()) return;
  const GraphShape& bound = shapes[static_cast<size_t>(bounded_.first)];
  sample_.reserve(bound.nodes, bound.edges, topology_.edge_width());
}

std::optional<StartUpCost> NeighbourSource::start_up_cost() const {
  if (!start_up_ || !is_starting_) return start_up_;
  const RowCounters now = counters_of_start_up();
  StartUpCost cost = *start_up_;
  cost.bytes_read = now.bytes_read - before_start_up_.bytes_read;
  cost.bytes_written = now.bytes_written - before_start_up_.bytes_written;
  return cost;
}

// Returns the bytes of lists, streams, stored samples, and rows read without a cache, so far.
RowCounters NeighbourSource::counters_of_start_up() const {
  const SharedLock lock(cache_mutex_);
  RowCounters counters = sum(earlier_counters_, direct_.counters());
  const TopologyCounters edges = topology_.counters();
  for (const PageCounters& column : {edges.lists, edges.neighbours, edges.weights, edges.features})
    counters.bytes_read += column.bytes_read;
  if (kept_) {
    counters.bytes_read += kept_->bytes_read();
    counters.bytes_written += kept_->bytes_written();
  }
  return counters;
}

void NeighbourSource::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  const SharedLock lock(cache_mutex_);
  block.clear();
  for (const int64_t number : graphs) append(number, block);
  if (options_.row_places) block.x.resize(static_cast<size_t>(block.nodes() * width_));
}

// Appends the values to predict for the seeds, which are the first nodes. Other nodes have none.
void NeighbourSource::append_targets(const BlockSample& sample, GraphBlock& block) const {
  const int64_t width = target_width();
  if (width == 0) return;
  for (size_t seed = 0; seed < sample.labels.size(); ++seed) {
    const std::span<const float> targets = graph_.targets_of(sample.batch.node[seed]);
    block.targets.insert(block.targets.end(), targets.begin(), targets.end());
  }
  block.targets.resize(static_cast<size_t>(block.nodes() * width), std::numeric_limits<float>::quiet_NaN());
}

// Returns the destination of the feature rows of the block's nodes.
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
  append_targets(sample, block);
  batch.each_edge([&](uint32_t source, uint32_t target) {
    block.edges.push_back(static_cast<int32_t>(source));
    block.edges.push_back(static_cast<int32_t>(target));
  });
  block.edge_attr.insert(block.edge_attr.end(), batch.values.begin(), batch.values.end());
  append_prefixes(batch, block.prefixes);
  if (left_out_) left_out_->append_places(batch.node, width_, block);
  block.x.resize(begin + sample.rows().size() * static_cast<size_t>(width_));
  return reinterpret_cast<std::byte*>(block.x.data() + begin);
}

void NeighbourSource::append(int64_t number, GraphBlock& block) const {
  const auto place = [&](const BlockSample& sample) { return append_graph(number, sample, block); };
  if (cache_ && cache_->read(number, place)) return;
  const MutexLock lock(mutex_);
  const bool is_stored = cache_ ? cache_->sample(number, sample_) : read_stored(number);
  if (!is_stored) sampler_.sample(number, sample_);
  sample_.choose_rows(left_out());
  direct_.read(sample_.rows(), reinterpret_cast<float*>(place(sample_)));
}

// Reads a block from the sample file, if memory allows, before there is a cache.
bool NeighbourSource::read_stored(int64_t number) const {
  if (!kept_ || !kept_->has(number)) return false;
  try {
    return KeptSamples(*kept_, sizes_.max_note).get({&number, 1}, {&sample_, 1}, {});
  } catch (const BudgetExceeded&) {
    return false;
  }
}

int64_t NeighbourSource::leave_out(int64_t max, std::span<float> buffer, const Take& take) const {
  const ExclusiveLock lock(cache_mutex_);
  drop_cache();
  return left_out_->leave_out(max, direct_, width_, sizes_.max_nodes, buffer, take);
}

void NeighbourSource::put_back() const {
  const ExclusiveLock lock(cache_mutex_);
  drop_cache();
  left_out_->clear();
}

void NeighbourSource::resize_topology(int64_t bytes) const {
  topology_.resize(std::clamp(bytes, topology_.min_bytes(), topology_.max_bytes()));
}

int64_t NeighbourSource::max_cache_bytes() const {
  const int64_t lists_and_rows = topology_.max_bytes() + SharedScan::max_bytes(rows_.layout());
  const int64_t samples = kSamplesAhead * sizes_.max_bytes + 2 * KeptSamples::bytes_for(sizes_.max_note);
  return lists_and_rows + lists_and_rows / 8 + samples + (1 << 20);
}

void NeighbourSource::drop_cache() const {
  if (cache_) earlier_counters_ = sum(earlier_counters_, cache_->counters());
  cache_.reset();
}

void NeighbourSource::resize_cache(int64_t bytes) const {
  if (is_starting_) {
    start_up_ = start_up_cost();
    is_starting_ = false;
  }
  const ExclusiveLock lock(cache_mutex_);
  drop_cache();
  if (bytes <= 0) return;
  if (sizes_.max_bytes == 0) {
    const MutexLock sampler_lock(mutex_);
    sizes_ = guess_sizes();
  }
  cache_ = std::make_unique<RunCache>(rows_, sampled_from(), topology_, kept_ ? &*kept_ : nullptr,
                                      cache_options(bytes));
}

void NeighbourSource::prepare(std::span<const int64_t> graphs, const std::function<void()>& lend) const {
  const SharedLock lock(cache_mutex_);
  if (cache_ && !graphs.empty()) cache_->prepare(graphs.front(), lend);
}

RunCache::Options NeighbourSource::cache_options(int64_t bytes) const {
  return {.bytes = bytes,
          .folder = options_.scratch.folder,
          .scratch_bytes = scratch_bytes() - (kept_ ? kept_->file_bytes() : 0),
          .sizes = sizes_,
          .hops = hops(),
          .threads = threads_,
          .uses = left_out_ ? left_out_->other_uses() : uses_,
          .counted_blocks = counted_blocks_,
          .left_out = left_out()};
}

std::optional<ReadingCost> NeighbourSource::reading_cost(int64_t cache_bytes) const {
  const int64_t validating = graphs() - blocks_.training_blocks();
  RunCache::Options options = cache_options(cache_bytes);
  bool kept = kept_.has_value();
  if (options.folder.empty()) {  // Without a folder, plans as if there were a file.
    options.folder = graph_.set().folder();
    const int64_t samples = sample_file_bytes(sizes_.max_note, ScratchFile::room(options.folder));
    kept = samples > 0;
    options.scratch_bytes -= samples;
  }
  const CacheShares shares = RunCache::shares(rows_, topology_, kept, options);
  const auto blocks = static_cast<double>(blocks_.per_epoch() + validating);
  return ReadingCost{.read = blocks * shares.bytes_read,
                     .written = blocks * shares.bytes_written,
                     .scattered_reads = blocks * shares.scattered_reads,
                     .data = data_bytes(),
                     .training = blocks_.per_epoch(),
                     .validating = validating};
}

SampleSizes NeighbourSource::sizes_of(std::span<const GraphShape> shapes,
                                      std::span<const GraphShape> prefixes) const {
  SampleSizes sizes = SampleSizes::of(shapes, prefixes, widths());
  if (!options_.negatives) return sizes;
  const int64_t pairs = std::ranges::max(shapes, {}, &GraphShape::pairs).pairs;
  sizes.max_bytes += sampled_from().bytes_for_targets(pairs / (1 + *options_.negatives));
  return sizes;
}

// Blocks of a run that is not sampled completely are assumed to be at most twice as large as the first.
SampleSizes NeighbourSource::guess_sizes() const {
  sampler_.sample(0, sample_);
  const GraphShape shape = sample_.shape({});
  SampleSizes sizes = sizes_of(std::span(&shape, 1), {});
  sizes.max_bytes *= 2;
  sizes.max_nodes *= 2;
  sizes.max_edges *= 2;
  sizes.max_note *= 2;
  return sizes;
}

// Returns enough disk space for rounds that need few passes over the rows. Samples of a small graph need more
// space than the graph.
int64_t NeighbourSource::scratch_bytes() const {
  if (options_.scratch.bytes) return *options_.scratch.bytes;
  return std::max(kSmallGraphScratch, kScratchOfData * data_bytes());
}

int64_t NeighbourSource::data_bytes() const {
  return rows_.rows * rows_.width * static_cast<int64_t>(sizeof(float)) + topology_.max_bytes();
}

int64_t NeighbourSource::planned() const {
  const SharedLock lock(cache_mutex_);
  return cache_ ? cache_->planned() : 0;
}

std::optional<RowCounters> NeighbourSource::row_counters() const {
  const SharedLock lock(cache_mutex_);
  RowCounters counters = sum(earlier_counters_, direct_.counters());
  const TopologyCounters edges = topology_.counters();
  for (const PageCounters& column : {edges.lists, edges.neighbours, edges.weights, edges.features})
    counters.bytes_read += column.bytes_read;
  return cache_ ? sum(counters, cache_->counters()) : counters;
}

}  // namespace plimsoll
