#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "rows/feature_file.h"
#include "rows/spilled_features.h"
#include "sample/neighbour/block_samples.h"
#include "sample/neighbour/run_order.h"
#include "sample/neighbour/sample_prefetcher.h"

namespace plimsoll {

/// Coming blocks that wait on the disk, each with its sample, if that is not in a file already, and, but for
/// what is in memory anyway, its rows (rows/spilled_features.h): as many as a scratch file has room for, and
/// so far more than memory has.
class OnDiskPrefetcher final : public SamplePrefetcher {
 public:
  struct Options {
    SpilledFeatures::Options packs;
    int64_t group = 1;                 ///< blocks whose samples are asked for at a time
    const RowSet* left_out = nullptr;  ///< rows that blocks come without; null: none
  };
  /// `again`: where samples are read again when their blocks are, as long as this lives, by any number of
  /// threads; null: they wait with the rows. `uses`: of each row, in some blocks. Errors: those of
  /// SpilledFeatures.
  OnDiskPrefetcher(const FeatureFile& rows, std::unique_ptr<BlockSamples> origin, BlockSamples* again,
                   const RunOrder& order, ScratchFile scratch, std::span<const uint8_t> uses,
                   const Options& options);
  ~OnDiskPrefetcher() override;

  void expect(int64_t number) override;
  bool read(int64_t number, const Place& place) override;
  int64_t planned() const override;
  RowCounters counters() const override { return packs_.counters(); }

 private:
  void begin_at(std::optional<int64_t> number);
  void begin_anew();
  void give_up();
  void announce();
  void pack_ahead(const std::stop_token& stop);
  void pack_round(const std::stop_token& stop);
  bool sample_group(const std::stop_token& stop);

  int64_t group_;
  const RowSet* const left_out_;
  SpilledFeatures packs_;
  std::unique_ptr<BlockSamples> origin_;     // the thread's, as what follows up to the mutex
  Vector<BlockSample, Tag::cache> samples_;  // of a group, of which some are in packs_
  std::vector<int64_t> sampling_;            // their numbers
  size_t packed_ = 0;
  size_t sampled_ = 0;
  Vector<std::byte, Tag::blocks> note_;

  BlockSamples* again_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  RunOrder order_;
  // Blocks that are in packs_ or will be, in order; kRead: no more.
  std::deque<int64_t, LedgerAllocator<int64_t, Tag::cache>> coming_;
  int64_t first_coming_ = 0;               // which batch of packs_ the first of them is
  std::vector<int64_t> announced_;         // the last of them, which are to be sampled next; room for a group
  std::optional<int64_t> next_;            // the block after them
  bool comes_ = false;                     // one of them was read: what was expected does come
  int64_t begun_ = 0;                      // how often all was to start again: the generation of packs_
  int64_t begins_done_ = 0;                // that it has begun
  std::stop_source making_;                // of the round that is made
  std::exception_ptr error_;               // that ended the thread
  Vector<BlockSample, Tag::cache> spare_;  // memory for samples that are read
  std::jthread thread_;                    // the last: it ends before what it works on
};

}  // namespace plimsoll
