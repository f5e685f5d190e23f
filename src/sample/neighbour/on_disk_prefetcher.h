#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "rows/packed_batches.h"
#include "rows/row_set.h"
#include "sample/neighbour/block_samples.h"
#include "sample/neighbour/run_order.h"
#include "sample/neighbour/sample_prefetcher.h"

namespace plimsoll {

/// A prefetcher that holds planned blocks on disk: as many as fit into a scratch file, which are far more
/// than fit into memory. A block is stored with its rows, except for rows that stay in memory
/// (rows/packed_batches.h), and with its sample unless the sample is already in a file.
class OnDiskPrefetcher final : public SamplePrefetcher {
 public:
  struct Options {
    int64_t max_note = 0;              ///< Maximum bytes of a sample that is stored with the rows.
    int64_t group = 1;                 ///< Number of blocks whose samples are requested together.
    const RowSet* left_out = nullptr;  ///< Rows to leave out of blocks; null: none.
    int64_t readers = 0;    ///< Number of samples for which memory is reserved: one per reader, and one for a
                            ///< group.
    int64_t max_nodes = 0;  ///< Maximum nodes of a sample; 0 if unknown.
    int64_t max_edges = 0;
    int64_t edge_width = 0;
  };
  /// `stored_samples` is the source from which any number of threads read the samples of blocks again; it
  /// must outlive this object. If it is null, the samples are stored with the rows. If `origin` is null, all
  /// samples come from `stored_samples`. Errors: BudgetExceeded, ThreadRefused.
  OnDiskPrefetcher(std::unique_ptr<PackedBatches> packs, std::unique_ptr<BlockSamples> origin,
                   BlockSamples* stored_samples, const RunOrder& order, const Options& options);
  ~OnDiskPrefetcher() override;

  void expect(int64_t number) override;
  bool read(int64_t number, const Place& place) override;
  int64_t planned() const override;
  RowCounters counters() const override { return packs_->counters(); }

 private:
  void restart_at(std::optional<int64_t> number) PLIMSOLL_REQUIRES(mutex_);
  void restart() PLIMSOLL_REQUIRES(mutex_);
  void give_up();
  void announce() PLIMSOLL_REQUIRES(mutex_);
  void pack_ahead(const std::stop_token& stop);
  void pack_round(const std::stop_token& stop);
  void require_planned(const BlockSample& sample) const;
  bool sample_group(const std::stop_token& stop);

  int64_t group_;
  const RowSet* const left_out_;
  const int64_t max_nodes_;
  const int64_t max_note_;
  const std::unique_ptr<PackedBatches> packs_;
  std::unique_ptr<BlockSamples> origin_;     // Used by the thread only, like the members up to the mutex.
  Vector<BlockSample, Tag::cache> samples_;  // Samples of a group; some of them are already in packs_.
  std::vector<int64_t> sampling_;            // Block numbers of samples_.
  size_t packed_ = 0;
  size_t sampled_ = 0;
  Vector<std::byte, Tag::blocks> note_;

  BlockSamples* stored_samples_;

  mutable Mutex mutex_;
  StoppableConditionVariable changed_;
  RunOrder order_ PLIMSOLL_GUARDED_BY(mutex_);
  // Blocks that are or will be in packs_, in order; kRead marks those that were read.
  std::deque<int64_t, LedgerAllocator<int64_t, Tag::cache>> queue_ PLIMSOLL_GUARDED_BY(mutex_);
  // Batch number in packs_ of the first entry of queue_.
  int64_t first_queued_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  // The last entries of queue_, which are sampled next; has capacity for a group.
  std::vector<int64_t> announced_ PLIMSOLL_GUARDED_BY(mutex_);
  std::optional<int64_t> next_ PLIMSOLL_GUARDED_BY(mutex_);  // The block after the announced ones.
  // Whether one of the blocks was read, so that the expected order was right.
  bool is_confirmed_ PLIMSOLL_GUARDED_BY(mutex_) = false;
  // Number of requested restarts: the generation of packs_.
  int64_t restarts_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  int64_t restarts_done_ PLIMSOLL_GUARDED_BY(mutex_) = 0;              // Number of completed restarts.
  std::stop_source making_ PLIMSOLL_GUARDED_BY(mutex_);                // Stops the current round.
  std::exception_ptr error_ PLIMSOLL_GUARDED_BY(mutex_);               // Error that ended the thread.
  Vector<BlockSample, Tag::cache> spare_ PLIMSOLL_GUARDED_BY(mutex_);  // Memory for samples that are read.
  std::jthread thread_;  // The last member, so that it ends before the data it uses.
};

}  // namespace plimsoll
