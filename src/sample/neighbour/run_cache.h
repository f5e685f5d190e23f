#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>

#include "rows/feature_file.h"
#include "sample/neighbour/block_sampler.h"
#include "sample/neighbour/cache_shares.h"
#include "sample/neighbour/sample_file.h"
#include "sample/neighbour/sample_prefetcher.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// Memory, and room on a disk, that make reading the blocks of a run quick. With a file of samples all memory
/// is for rows. Where epochs come that the file does not have, it is all for the topology until they are
/// sampled, on all threads of the run. Without such a file samples are made in the background, and topology
/// and rows share the memory.
///
/// Any number of threads may call it at once. Blocks are the same for every size.
class RunCache {
 public:
  struct Options {
    int64_t bytes = 0;                  ///< of memory (Tag::cache, and Tag::blocks for samples)
    std::filesystem::path folder = {};  ///< where packs lie; empty: there are none
    int64_t scratch_bytes = 0;          ///< that these take at most
    SampleSizes sizes = {};             ///< of all blocks of the run
    int64_t hops = 0;
    int threads = 1;                     ///< that sample
    std::span<const uint8_t> uses = {};  ///< of each row, in some blocks; as long as this lives
    int64_t counted_blocks = 0;          ///< how many these are
    const RowSet* left_out = nullptr;    ///< rows that blocks come without, likewise; null: none
  };
  /// What is given has to outlive it. `topology` has its bytes changed; `kept` (may be null) has other
  /// samples written to it. Errors: BudgetExceeded, those of SharedScan and SpilledFeatures.
  RunCache(const FeatureFile& rows, const BlockSampler::From& from, DiskTopology& topology, SampleFile* kept,
           const Options& options);
  ~RunCache();

  /// How the memory would be used, and what is read and written for a block then; `kept`: there is a file of
  /// samples.
  static CacheShares shares(const FeatureFile& rows, const DiskTopology& topology, bool kept,
                            const Options& options);

  /// As SamplePrefetcher::read(). Errors: those, and those of sample_blocks().
  bool read(int64_t number, const SamplePrefetcher::Place& place);
  /// The sample of a block, if it is kept.
  bool sample(int64_t number, BlockSample& sample);
  int64_t planned() const;
  RowCounters counters() const;

 private:
  bool is_missing(int64_t number) const;
  void fill(int64_t number);
  bool sample_from(int64_t number);
  void begin();
  void end();

  const FeatureFile& rows_;
  const BlockSampler::From from_;
  DiskTopology& topology_;
  const Options options_;

  mutable std::shared_mutex mutex_;   // guards what follows; who reads shares it
  SampleFile* kept_;                  // null: there is none, or no room to fill it
  int64_t kept_end_ = 0;              // training blocks before this one are in it, or were
  std::optional<KeptSamples> again_;  // for who reads a block
  std::unique_ptr<SamplePrefetcher> coming_;
  RowCounters before_;  // of what came earlier
};

}  // namespace plimsoll
