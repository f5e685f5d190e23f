#include "sample/neighbour/run_cache.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/error.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"
#include "rows/spilled_features.h"
#include "rows/whole_batches.h"
#include "sample/neighbour/in_memory_prefetcher.h"
#include "sample/neighbour/on_disk_prefetcher.h"
#include "sample/neighbour/range_sampler.h"
#include "sample/neighbour/sample_blocks.h"

namespace plimsoll {
namespace {

// Adds an allowance for the holes that blocks leave on the heap.
int64_t with_holes(int64_t bytes) {
  return bytes + bytes / 2;
}

StreamSpace stream_space_of(const RunCache::Options& options) {
  return {.folder = options.folder,
          .bytes = options.scratch_bytes,
          .nodes = options.sizes.nodes,
          .edges = options.sizes.edges,
          .max_nodes = options.sizes.max_nodes,
          .max_edges = options.sizes.max_edges};
}

// Returns the bytes that a thread needs to sample in ranges; 0 if that is not possible.
int64_t range_bytes_of(const BlockSampler::From& from, const RunCache::Options& options) {
  const SampleSizes& sizes = options.sizes;
  if (!can_sample_in_ranges(from, stream_space_of(options))) return 0;
  return RangeSampler::bytes_for(sizes.max_nodes, sizes.max_edges, sizes.edge_width);
}

// Returns the number of free bytes, at least `bytes`.
int64_t free_bytes(int64_t bytes) {
  const Ledger& ledger = Ledger::process();
  return ledger.cap() == Ledger::kUnlimited ? bytes : std::max(bytes, ledger.cap() - ledger.held());
}

CacheInput cache_input(const FeatureFile& rows, const DiskTopology& topology, bool sampled,
                       const RunCache::Options& options) {
  CacheInput input{.bytes = options.bytes,
                   .sizes = options.sizes,
                   .rows = rows,
                   .hops = options.hops,
                   .topology_bytes = topology.max_bytes() - topology.min_bytes(),
                   .scratch_bytes = options.folder.empty()
                                        ? 0
                                        : std::min(options.scratch_bytes, ScratchFile::room(options.folder)),
                   .sampled = sampled,
                   .uses = options.uses,
                   .counted_blocks = options.counted_blocks};
  if (sampled) {
    input.bytes_of_reader = KeptSamples::bytes_for(options.sizes.max_note);
    input.bytes -= 2 * input.bytes_of_reader;
  }
  return input;
}

}  // namespace

RunCache::RunCache(const FeatureFile& rows, const BlockSampler::From& from, DiskTopology& topology,
                   SampleFile* kept, const Options& options)
    : rows_(rows), from_(from), topology_(topology), options_(options), kept_(kept) {
  topology_.resize(topology_.min_bytes());
  if (kept_ != nullptr) kept_end_ = kept_->end_of(0);
  // Otherwise the first block that is read determines which blocks are sampled.
  if (kept_ == nullptr || kept_end_ > 0) begin();
}

RunCache::~RunCache() {
  end();
}

CacheShares RunCache::shares(const FeatureFile& rows, const DiskTopology& topology, bool kept,
                             const Options& options) {
  return divide_cache(cache_input(rows, topology, kept, options));
}

bool RunCache::is_missing(int64_t number) const {
  if (kept_ == nullptr) return false;
  if (prefetcher_ == nullptr) return !stored_samples_;
  return !kept_->has(number) && number >= kept_end_ && from_.blocks.block(number).list <= 1;
}

bool RunCache::read(int64_t number, const SamplePrefetcher::Place& place) {
  {
    const SharedLock lock(mutex_);
    if (!is_missing(number)) return prefetcher_ && prefetcher_->read(number, place);
  }
  {
    const ExclusiveLock lock(mutex_);
    if (is_missing(number)) fill(number, {});
  }
  const SharedLock lock(mutex_);
  return prefetcher_ && prefetcher_->read(number, place);
}

void RunCache::prepare(int64_t number, const std::function<void()>& lend) {
  const ExclusiveLock lock(mutex_);
  if (kept_ != nullptr && !kept_->has(number)) fill(number, lend);
}

bool RunCache::sample(int64_t number, BlockSample& sample) {
  const SharedLock lock(mutex_);
  return stored_samples_ && kept_->has(number) && stored_samples_->get({&number, 1}, {&sample, 1}, {});
}

// Uses the memory for the topology until blocks from this one on are sampled, and for rows afterwards.
void RunCache::fill(int64_t number, const std::function<void()>& lend) {
  end();
  if (lend) lend();
  bool is_stored = false;
  try {
    is_stored = sample_from(number, lend ? free_bytes(options_.bytes) : options_.bytes);
  } catch (const BudgetExceeded&) {
    kept_->finish();  // Frees the write buffers.
  } catch (const std::bad_alloc&) {
    kept_->finish();
  }
  if (!is_stored) kept_ = nullptr;
  topology_.resize(topology_.min_bytes());  // Frees memory that sampling still held when it was refused more.
  begin();
  if (prefetcher_ != nullptr && kept_ != nullptr) prefetcher_->expect(number);
}

// Returns whether any training samples were stored.
bool RunCache::sample_from(int64_t number, int64_t bytes) {
  const SeedBlocks& blocks = from_.blocks;
  const int64_t first = blocks.block(number).list == 0 ? number : 0;
  // Validation blocks are read in each epoch.
  const auto max =
      static_cast<int64_t>(static_cast<double>(kept_->file_bytes()) / options_.sizes.note_bytes(rows_.rows));
  const BlockNumbers numbers[] = {{blocks.training_blocks(), blocks.blocks()},
                                  {first, std::min(first + max + 1, blocks.training_blocks())}};
  SampleFile& file = *kept_;  // Threads that sample use the file while this thread holds the lock.
  file.begin();
  Vector<std::byte, Tag::blocks> sample;
  sample.reserve(static_cast<size_t>(options_.sizes.max_note));
  bytes -= SampleFile::kBuffer + SampleFile::kPage + options_.sizes.max_note;
  const auto shares = SamplingShares::of(bytes, topology_, with_holes(options_.sizes.max_bytes),
                                         options_.threads, range_bytes_of(from_, options_));
  const auto keep = [&](std::span<const BlockSample> group, Turn& turn) {
    turn.wait();
    return std::ranges::all_of(group, [&](const BlockSample& block) {
      block.write(sample);
      options_.sizes.raise(block.batch.nodes(), block.batch.edges(), std::ssize(sample));
      return file.add(block.number, sample);
    });
  };
  const StreamBytes streams =
      sample_blocks(from_, topology_, shares, numbers, stream_space_of(options_), keep);
  earlier_counters_.bytes_read += streams.read;
  earlier_counters_.bytes_written += streams.written;
  topology_.resize(topology_.min_bytes());
  file.finish();
  give_back_freed_memory();
  kept_end_ = file.end_of(first);
  return kept_end_ > first && file.has(number);
}

void RunCache::begin() {
  CacheInput divided = cache_input(rows_, topology_, kept_ != nullptr, options_);
  CacheShares shares = divide_cache(divided);
  std::optional<ScratchFile> scratch;
  if (shares.scratch_bytes > 0) scratch = ScratchFile::make(options_.folder, shares.scratch_bytes);
  if (shares.scratch_bytes > 0 && !scratch) {  // The disk does not have enough space.
    divided.scratch_bytes = 0;
    shares = divide_cache(divided);
  }
  const SampleSizes& sizes = options_.sizes;
  const int64_t of_block = kept_ != nullptr ? sizes.max_kept() : sizes.max_bytes;
  const int64_t ahead = std::max(shares.ahead_bytes, of_block);
  const int64_t of_rows = divided.bytes - ahead - (shares.topology ? divided.topology_bytes : 0);
  const int64_t min = topology_.min_bytes();
  if (!scratch && of_rows < SharedScan::min_bytes(rows_.layout())) {
    if (kept_ != nullptr && options_.bytes >= KeptSamples::bytes_for(sizes.max_note)) {
      stored_samples_.emplace(*kept_, sizes.max_note);  // Readers of blocks read rows themselves.
      return;
    }
    kept_ = nullptr;
    return topology_.resize(std::min(min + options_.bytes, topology_.max_bytes()));
  }
  if (shares.topology) topology_.resize(topology_.max_bytes());
  std::unique_ptr<BlockSamples> samples;
  if (kept_ == nullptr)
    samples = std::make_unique<SampledNow>(from_);
  else
    stored_samples_.emplace(*kept_, sizes.max_note);
  if (kept_ != nullptr && !shares.whole) samples = std::make_unique<KeptSamples>(*kept_, sizes.max_note);
  const RunOrder order(from_.blocks, kept_ != nullptr ? kept_end_ : from_.blocks.blocks());
  if (scratch) {
    const int64_t max_note = kept_ != nullptr ? 0 : sizes.max_note;
    prefetcher_ = std::make_unique<OnDiskPrefetcher>(
        packs_for(shares, of_rows + (shares.whole ? divided.bytes_of_reader : 0), max_note,
                  std::move(*scratch)),
        std::move(samples), stored_samples_ ? &*stored_samples_ : nullptr, order,
        OnDiskPrefetcher::Options{.max_note = max_note,
                                  .group = shares.group,
                                  .left_out = options_.left_out,
                                  .readers = shares.whole ? WholeBatches::kReaders : 0,
                                  .max_nodes = sizes.max_nodes,
                                  .max_edges = sizes.max_edges,
                                  .edge_width = sizes.edge_width});
  } else {
    const int64_t of_sweep = std::min(of_rows, SharedScan::max_bytes(rows_.layout()));
    const int64_t max_group = std::min(SamplingShares::kLargestGroup, ahead / of_block);
    prefetcher_ = std::make_unique<InMemoryPrefetcher>(
        rows_, std::move(samples), order, options_.uses,
        InMemoryPrefetcher::Options{of_sweep, ahead, of_block,
                                    std::clamp<int64_t>(shares.group, 1, max_group), options_.left_out});
  }
}

std::unique_ptr<PackedBatches> RunCache::packs_for(const CacheShares& shares, int64_t bytes, int64_t max_note,
                                                   ScratchFile scratch) const {
  const int64_t scratch_bytes = scratch.bytes();
  const int64_t max_rows = options_.sizes.max_nodes;
  if (shares.whole)
    return std::make_unique<WholeBatches>(rows_, WholeBatches::Options{bytes, scratch_bytes, max_rows},
                                          std::move(scratch), options_.uses);
  return std::make_unique<SpilledFeatures>(rows_,
                                           SpilledFeatures::Options{bytes, scratch_bytes, max_rows, max_note},
                                           std::move(scratch), options_.uses);
}

void RunCache::end() {
  if (prefetcher_) earlier_counters_ = sum(earlier_counters_, prefetcher_->counters());
  prefetcher_.reset();
  stored_samples_.reset();
  topology_.resize(topology_.min_bytes());
}

int64_t RunCache::planned() const {
  const SharedLock lock(mutex_);
  return prefetcher_ ? prefetcher_->planned() : 0;
}

RowCounters RunCache::counters() const {
  const SharedLock lock(mutex_);
  RowCounters all = earlier_counters_;
  if (prefetcher_) all = sum(all, prefetcher_->counters());
  if (kept_ != nullptr) {
    all.bytes_read += kept_->bytes_read();
    all.bytes_written += kept_->bytes_written();
  }
  return all;
}

}  // namespace plimsoll
