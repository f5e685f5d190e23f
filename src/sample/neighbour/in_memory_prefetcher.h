#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "rows/feature_file.h"
#include "rows/shared_scan.h"
#include "sample/neighbour/block_samples.h"
#include "sample/neighbour/run_order.h"
#include "sample/neighbour/sample_prefetcher.h"

namespace plimsoll {

/// A prefetcher that holds many planned blocks in memory at the same time. Their rows are read in file order,
/// round after round (rows/shared_scan.h).
class InMemoryPrefetcher final : public SamplePrefetcher {
 public:
  struct Options {
    int64_t row_bytes = 0;             ///< Bytes of the SharedScan: at least SharedScan::min_bytes().
    int64_t ahead_bytes = 0;           ///< Bytes for blocks that are sampled ahead.
    int64_t max_bytes = 0;             ///< Maximum bytes of a block while it is sampled or read.
    int64_t group = 1;                 ///< Number of blocks that are sampled together.
    const RowSet* left_out = nullptr;  ///< Rows to leave out of blocks; null: none.
  };
  /// `uses` is the number of uses of each row; it must outlive this object. Errors: those of SharedScan.
  InMemoryPrefetcher(const FeatureFile& rows, std::unique_ptr<BlockSamples> samples, const RunOrder& order,
                     std::span<const uint8_t> uses, const Options& options);

  void expect(int64_t number) override;
  bool read(int64_t number, const Place& place) override;
  int64_t planned() const override;
  RowCounters counters() const override { return sweep_.counters(); }

 private:
  struct QueuedBlock {
    int64_t number = 0;
    bool planned = false;  // The rows are planned in sweep_.
    int64_t bytes = 0;     // Bytes of the sample.
    BlockSample sample = {};
  };
  std::optional<QueuedBlock> take(int64_t number) PLIMSOLL_REQUIRES(mutex_);
  void end(const QueuedBlock& queued) PLIMSOLL_REQUIRES(mutex_);
  void plan() PLIMSOLL_REQUIRES(mutex_);
  void restart_at(std::optional<int64_t> number) PLIMSOLL_REQUIRES(mutex_);
  bool has_room() const PLIMSOLL_REQUIRES(mutex_) {
    return queued_bytes_ + options_.group * options_.max_bytes <= options_.ahead_bytes;
  }
  void sample_group(const std::stop_token& stop) PLIMSOLL_REQUIRES(mutex_);
  void sample_ahead(const std::stop_token& stop);

  Options options_;
  SharedScan sweep_;
  std::unique_ptr<BlockSamples> samples_;  // Used by the thread only.

  mutable Mutex mutex_;
  StoppableConditionVariable changed_;
  RunOrder order_ PLIMSOLL_GUARDED_BY(mutex_);
  std::deque<QueuedBlock> queue_ PLIMSOLL_GUARDED_BY(mutex_);
  int64_t queued_bytes_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  std::optional<int64_t> next_ PLIMSOLL_GUARDED_BY(mutex_);    // Block to be sampled next.
  std::vector<int64_t> sampling_ PLIMSOLL_GUARDED_BY(mutex_);  // Blocks that the thread works on.
  int64_t restarts_ PLIMSOLL_GUARDED_BY(mutex_) = 0;           // Number of restarts of queue_.
  std::jthread thread_;  // The last member, so that it ends before the data it uses.
};

}  // namespace plimsoll
