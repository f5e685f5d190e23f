#include "sample/neighbour_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/workers.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"
#include "sample/cache_shares.h"
#include "sample/sample_shape.h"
#include "sample/seed_lists.h"

namespace plimsoll {
namespace {

// Blocks that may be under way at once: one that is read again is among the last so many.
constexpr size_t kRecent = 64;
// Blocks in which it is counted how often a node is used: a byte has room for all.
constexpr int64_t kCountedBlocks = 255;
constexpr int64_t kLargestGroup = 1024;

RowCounters sum(RowCounters a, const RowCounters& b) {
  a.hits += b.hits;
  a.misses += b.misses;
  a.bytes_useful += b.bytes_useful;
  a.bytes_read += b.bytes_read;
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
      sampler_(*this),
      ahead_sampler_(*this) {
  tables_.node_features = graph_.tables().node_features;
}

NeighbourSource::Sampler::Sampler(const NeighbourSource& source)
    : neighbours(source.topology_, source.options_.neighbours, source.options_.seed) {
  const NeighbourSourceOptions& options = source.options_;
  if (options.negatives) links.emplace(source.topology_, source.graph_, *options.negatives, options.seed);
}

void NeighbourSource::seeds_of(Sampler& sampler, int64_t number, Sample& sample) const {
  const SeedBlocks::Block block = blocks_.block(number);
  sample.batch.epoch = block.epoch;
  if (sampler.links)
    sampler.links->make(blocks_, block, sample.batch.node, sample.pairs, sample.pair_y);
  else
    blocks_.seeds(block, sample.batch.node, sample.labels);
}

void NeighbourSource::sample_alone(Sampler& sampler, int64_t number, Sample& sample) const {
  seeds_of(sampler, number, sample);
  sampler.neighbours.sample(std::span(&sample.batch, 1));
}

GraphShape NeighbourSource::shape_of(const Sample& sample, std::span<GraphShape> prefixes) const {
  GraphShape shape = shape_of_sample(sample.batch, sample.labels, prefixes);
  shape.pairs = static_cast<int32_t>(sample.pair_y.size());
  return shape;
}

// Blocks are sampled in groups, as large as a part of what the budget leaves has room for.
void NeighbourSource::sample_all(int threads, Vector<GraphShape, Tag::columns>& shapes) const {
  // Nothing else needs the memory yet.
  const Ledger& ledger = Ledger::process();
  const bool unlimited = ledger.cap() == Ledger::kUnlimited;
  const int64_t left = unlimited ? 0 : ledger.cap() - ledger.held();
  resize_topology(unlimited ? topology_.most_bytes() : left / 2);
  const bool in_memory = unlimited || left / 2 >= topology_.most_bytes();
  const int64_t room = left / 4 / threads;
  struct Own {
    Sampler sampler;
    Vector<Sample, Tag::blocks> samples = {};
    int64_t first = 0;
    int64_t count = 0;
  };
  std::vector<Own> own;
  for (int i = 0; i < threads; ++i) own.push_back({Sampler(*this)});
  std::atomic<int64_t> largest = 0;  // bytes of a block, so far
  int64_t next = 0;
  const int64_t step = (graphs() + kCountedBlocks - 1) / kCountedBlocks;
  const auto take = [&](int64_t, int worker) {
    Own& mine = own[static_cast<size_t>(worker)];
    const int64_t most = in_memory ? CacheShares::kGroupInMemory : kLargestGroup;
    mine.first = next;
    mine.count = std::clamp<int64_t>(largest == 0 ? 1 : room / (2 * largest), 1, most);
    mine.count = std::min(mine.count, graphs() - next);
    next += mine.count;
    return mine.count > 0;
  };
  const auto work = [&](int64_t, Turn& turn) {
    Own& mine = own[static_cast<size_t>(turn.worker())];
    Vector<SampledBatch, Tag::blocks> batches(static_cast<size_t>(mine.count));
    mine.samples.resize(std::max(mine.samples.size(), batches.size()));
    for (size_t i = 0; i < batches.size(); ++i) {
      seeds_of(mine.sampler, mine.first + static_cast<int64_t>(i), mine.samples[i]);
      std::swap(batches[i], mine.samples[i].batch);
    }
    mine.sampler.neighbours.sample(batches);
    for (size_t i = 0; i < batches.size(); ++i) {
      Sample& sample = mine.samples[i];
      std::swap(batches[i], sample.batch);
      const int64_t number = mine.first + static_cast<int64_t>(i);
      const GraphShape shape =
          shape_of(sample, std::span(prefix_shapes_)
                               .subspan(static_cast<size_t>(number * hops()), static_cast<size_t>(hops())));
      shapes[static_cast<size_t>(number)] = shape;
      const int64_t bytes = BulkSampler::bytes_for(shape.nodes, shape.edges);
      for (int64_t before = largest; before < bytes && !largest.compare_exchange_weak(before, bytes);) {
      }
      if (number % step != 0) continue;
      for (const int64_t node : sample.batch.node)
        std::atomic_ref(uses_[static_cast<size_t>(node)]).fetch_add(1, std::memory_order_relaxed);
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
  sizes_ = SampleSizes::of(shapes);
  for (const auto of : {&GraphShape::nodes, &GraphShape::edges})
    sample_alone(sampler_, std::ranges::max_element(shapes, {}, of) - shapes.begin(), sample_);
  wanted_.reserve(sample_.batch.node.capacity());
  return shapes;
}

void NeighbourSource::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  std::unique_lock lock(mutex_);
  block.clear();
  for (const int64_t number : graphs) append(number, block, lock);
}

// Returns where the features of its nodes go.
float* NeighbourSource::append_graph(int64_t number, const Sample& sample, GraphBlock& block) const {
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
  return block.x.data() + begin;
}

void NeighbourSource::append(int64_t number, GraphBlock& block, std::unique_lock<std::mutex>& lock) const {
  changed_.wait(lock, [&] { return std::ranges::find(sampling_, number) == sampling_.end(); });
  if (const std::optional<Coming> coming = take_coming(number)) {
    const std::span<const int64_t> nodes = coming->sample.batch.node;
    float* const x = append_graph(number, coming->sample, block);
    try {
      if (coming->planned) {
        ++gathering_;
        lock.unlock();
        sweep_->gather(nodes, reinterpret_cast<std::byte*>(x));
        lock.lock();
        --gathering_;
      } else {
        read_rows(nodes, x);
      }
    } catch (...) {
      if (!lock.owns_lock()) {
        lock.lock();
        --gathering_;
      }
      end(*coming);
      throw;
    }
    end(*coming);
  } else {
    append_now(number, block);
  }
  recent_.push_back(number);
  if (recent_.size() > kRecent) recent_.pop_front();
}

// A block that nobody knew to come, or that is read again.
void NeighbourSource::append_now(int64_t number, GraphBlock& block) const {
  if (std::ranges::find(recent_, number) == recent_.end()) start_behind(number);
  sample_alone(sampler_, number, sample_);
  read_rows(sample_.batch.node, append_graph(number, sample_, block));
}

void NeighbourSource::read_rows(std::span<const int64_t> nodes, float* x) const {
  wanted_.clear();
  for (const int64_t node : nodes) {
    wanted_.push_back({node, reinterpret_cast<std::byte*>(x)});
    x += width_;
  }
  const auto start = std::chrono::steady_clock::now();
  reader_.read(wanted_);
  before_.waited_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  before_.misses += static_cast<int64_t>(nodes.size());
  before_.bytes_useful += static_cast<int64_t>(nodes.size()) * rows_.layout().row_bytes;
}

// Takes a block out of those that come, and what is so far before it that nobody will come to read it.
std::optional<NeighbourSource::Coming> NeighbourSource::take_coming(int64_t number) const {
  const auto found = std::ranges::find(coming_, number, &Coming::number);
  if (found == coming_.end()) return std::nullopt;
  Coming taken = std::move(*found);
  for (size_t before = static_cast<size_t>(coming_.erase(found) - coming_.begin()); before > kRecent;
       --before) {
    const Coming passed = std::move(coming_.front());
    coming_.pop_front();
    end(passed);
  }
  return taken;
}

void NeighbourSource::end(const Coming& coming) const {
  coming_bytes_ -= coming.bytes;
  if (coming.planned) sweep_->end(coming.sample.batch.node);
  plan_coming();
  changed_.notify_all();
}

void NeighbourSource::plan_coming() const {
  for (Coming& coming : coming_) {
    if (coming.planned) continue;
    if (!sweep_->plan(coming.sample.batch.node)) return;
    coming.planned = true;
  }
}

// What was planned is not what comes: from now on it is what comes behind this block.
void NeighbourSource::start_behind(int64_t number) const {
  if (ahead_bytes_ == 0) return;
  forget_coming();
  next_ = behind(number);
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { sample_ahead(stop); });
  changed_.notify_all();
}

void NeighbourSource::forget_coming() const {
  for (const Coming& coming : coming_)
    if (coming.planned) sweep_->end(coming.sample.batch.node);
  for (const Coming& coming : coming_) coming_bytes_ -= coming.bytes;
  coming_.clear();
  next_.reset();
  ++begun_;
}

// The block that comes behind another where a run goes on: its epoch's, then those that validate.
std::optional<int64_t> NeighbourSource::behind(int64_t number) const {
  const SeedBlocks::Block block = blocks_.block(number);
  const int64_t per_epoch = blocks_.per_epoch();
  const int64_t next = number + 1;
  if (block.list == 0) {
    last_epoch_ = block.epoch;
    const bool epoch_goes_on = next % per_epoch != 0;
    if (epoch_goes_on) return next;
    if (blocks_.lists().size() > 1) return blocks_.numbers(1).front();
    return next < blocks_.blocks() ? std::optional(next) : std::nullopt;
  }
  if (next < blocks_.blocks() && blocks_.block(next).list == block.list) return next;
  const int64_t epoch = int64_t{last_epoch_} * per_epoch;
  if (block.list == 1 && last_epoch_ > 0 && blocks_.block(epoch).list == 0) return epoch;
  return std::nullopt;
}

bool NeighbourSource::has_room() const {
  return ahead_bytes_ > 0 && coming_bytes_ + group_ * sizes_.most_bytes <= ahead_bytes_;
}

void NeighbourSource::sample_ahead(const std::stop_token& stop) const {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return next_ && has_room(); })) {
    const int64_t begun = begun_;
    for (std::optional<int64_t> number = next_; number && std::ssize(sampling_) < group_;
         number = behind(*number))
      sampling_.push_back(*number);
    next_ = behind(sampling_.back());
    Vector<Coming, Tag::cache> group;
    Vector<SampledBatch, Tag::cache> batches;
    lock.unlock();
    bool sampled = true;
    try {
      for (const int64_t number : sampling_) {
        group.push_back({.number = number});
        seeds_of(ahead_sampler_, number, group.back().sample);
        batches.push_back(std::move(group.back().sample.batch));
      }
      ahead_sampler_.neighbours.sample(batches);
    } catch (const std::exception&) {
      sampled = false;  // who reads the blocks finds the same, and says so
    }
    lock.lock();
    sampling_.clear();
    if (begun != begun_) ahead_sampler_.neighbours.forget();
    if (begun == begun_ && !sampled) next_.reset();
    if (begun == begun_ && sampled) {
      for (size_t i = 0; i < group.size(); ++i) {
        Coming& coming = group[i];
        coming.sample.batch = std::move(batches[i]);
        coming.bytes = coming.sample.batch.bytes();
        coming_bytes_ += coming.bytes;
        coming_.push_back(std::move(coming));
      }
      plan_coming();
    }
    changed_.notify_all();
  }
}

void NeighbourSource::resize_topology(int64_t bytes) const {
  topology_.resize(std::clamp(bytes, topology_.least_bytes(), topology_.most_bytes()));
}

int64_t NeighbourSource::most_cache_bytes() const {
  const int64_t lists_and_rows = topology_.most_bytes() + RowSweep::most_bytes(rows_.layout());
  return lists_and_rows + lists_and_rows / 8 + (1 << 20);
}

void NeighbourSource::resize_cache(int64_t bytes) const {
  std::unique_lock lock(mutex_);
  forget_coming();
  changed_.wait(lock, [&] { return gathering_ == 0 && sampling_.empty(); });
  ahead_sampler_.neighbours.forget();
  recent_.clear();
  if (sweep_) before_ = sum(before_, sweep_->counters());
  sweep_.reset();
  ahead_bytes_ = 0;
  const int64_t least = topology_.least_bytes();
  resize_topology(least);
  if (bytes <= 0) return;
  if (sizes_.most_bytes == 0) {
    sample_alone(sampler_, 0, sample_);
    const GraphShape shape = shape_of(sample_, {});
    sizes_ = SampleSizes::of(std::span(&shape, 1));
    sizes_.most_bytes *= 2;
  }
  const CacheShares shares = divide_cache(bytes, sizes_, rows_, hops(), topology_.most_bytes() - least);
  const int64_t for_blocks = bytes - (shares.topology ? topology_.most_bytes() - least : 0);
  const int64_t ahead = std::max(shares.ahead_bytes, sizes_.most_bytes);
  const int64_t rows = std::min(for_blocks - ahead, RowSweep::most_bytes(rows_.layout()));
  if (rows < RowSweep::least_bytes(rows_.layout())) return resize_topology(least + bytes);
  if (shares.topology) resize_topology(topology_.most_bytes());
  try {
    sweep_.emplace(rows_.path, rows_.layout(), rows);
  } catch (const BudgetExceeded&) {
    resize_topology(least);
    throw;
  }
  sweep_->set_uses(uses_);
  ahead_bytes_ = ahead;
  group_ = std::clamp<int64_t>(shares.group, 1, std::min(kLargestGroup, ahead / sizes_.most_bytes));
}

int64_t NeighbourSource::planned() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::count_if(coming_, &Coming::planned);
}

std::optional<RowCounters> NeighbourSource::row_counters() const {
  const std::lock_guard lock(mutex_);
  RowCounters counters = before_;
  counters.bytes_read += reader_.counts().bytes_read;
  return sweep_ ? sum(counters, sweep_->counters()) : counters;
}

}  // namespace plimsoll
