#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/shared_mutex.h"
#include "rows/feature_file.h"
#include "rows/packed_batches.h"
#include "sample/neighbour/block_sampler.h"
#include "sample/neighbour/cache_shares.h"
#include "sample/neighbour/sample_file.h"
#include "sample/neighbour/sample_prefetcher.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// Memory and disk space that make reading the blocks of a run fast. With a sample file, all memory is used
/// for rows. When an epoch starts whose samples are not in the file, all memory is used for the topology
/// until the threads of the run have sampled them. Without a sample file, samples are made in the background,
/// and topology and rows share the memory.
///
/// Any number of threads may call it at once. Blocks are the same for every size.
class RunCache {
 public:
  struct Options {
    int64_t bytes = 0;                  ///< Bytes of memory (Tag::cache, and Tag::blocks for samples).
    std::filesystem::path folder = {};  ///< Folder for packs; empty disables them.
    int64_t scratch_bytes = 0;          ///< Maximum disk space for packs.
    SampleSizes sizes = {};             ///< Sizes over all blocks of the run.
    int64_t hops = 0;
    int threads = 1;                     ///< Threads that sample.
    std::span<const uint8_t> uses = {};  ///< Uses of each row in some of the run's blocks; must outlive this
                                         ///< object.
    int64_t counted_blocks = 0;          ///< Number of blocks in which uses were counted.
    /// Rows to leave out of blocks; null: none. Must outlive this object.
    const RowSet* left_out = nullptr;
  };
  /// The arguments must outlive this object. It resizes `topology`, and writes further samples to `kept` (may
  /// be null). Errors: BudgetExceeded, ThreadRefused; those of SharedScan, SpilledFeatures and WholeBatches.
  RunCache(const FeatureFile& rows, const BlockSampler::From& from, DiskTopology& topology, SampleFile* kept,
           const Options& options);
  ~RunCache();

  /// Returns how the memory would be divided, and the estimated reads and writes per block; `kept`: whether
  /// there is a sample file.
  static CacheShares shares(const FeatureFile& rows, const DiskTopology& topology, bool kept,
                            const Options& options);

  /// Does the same as SamplePrefetcher::read(). If the sample file lacks the block, first samples blocks from
  /// it on, while other calls wait. Errors: those of that function and of sample_blocks().
  bool read(int64_t number, const SamplePrefetcher::Place& place);
  /// Samples the blocks from number `number` on if that block is not in the sample file, with memory that
  /// `lend` frees (BlockSource::prepare). No other thread may call read() meanwhile. Errors: those of
  /// sample_blocks() except BudgetExceeded, after which the sample file is no longer used; those of the
  /// constructor.
  void prepare(int64_t number, const std::function<void()>& lend);
  /// Reads the stored sample of a block. Returns false if it is not stored. Errors: those of
  /// KeptSamples::get().
  bool sample(int64_t number, BlockSample& sample);
  int64_t planned() const;
  RowCounters counters() const;

 private:
  bool is_missing(int64_t number) const PLIMSOLL_REQUIRES_SHARED(mutex_);
  void fill(int64_t number, const std::function<void()>& lend) PLIMSOLL_REQUIRES(mutex_);
  bool sample_from(int64_t number, int64_t bytes) PLIMSOLL_REQUIRES(mutex_);
  void begin() PLIMSOLL_REQUIRES(mutex_);
  std::unique_ptr<PackedBatches> packs_for(const CacheShares& shares, int64_t bytes, int64_t max_note,
                                           ScratchFile scratch) const PLIMSOLL_REQUIRES(mutex_);
  void end() PLIMSOLL_REQUIRES(mutex_);

  const FeatureFile& rows_;
  const BlockSampler::From from_;
  DiskTopology& topology_;
  Options options_;  // Only `sizes` changes, while mutex_ is locked exclusively.

  mutable SharedMutex mutex_;
  SampleFile* kept_ PLIMSOLL_GUARDED_BY(mutex_);  // Null if there is no sample file, or not enough memory to
                                                  // fill it.
  int64_t kept_end_ PLIMSOLL_GUARDED_BY(mutex_) = 0;  // Training blocks before this one are, or were, in
                                                      // kept_.
  std::optional<KeptSamples> stored_samples_ PLIMSOLL_GUARDED_BY(mutex_);  // Samples for readers of blocks.
  std::unique_ptr<SamplePrefetcher> prefetcher_ PLIMSOLL_GUARDED_BY(mutex_);
  RowCounters earlier_counters_ PLIMSOLL_GUARDED_BY(mutex_);  // Counters of earlier prefetchers.
};

}  // namespace plimsoll
