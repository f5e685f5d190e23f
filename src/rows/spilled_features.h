#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"
#include "rows/feature_file.h"
#include "rows/pack_round.h"
#include "rows/packed_batches.h"
#include "rows/pinned_rows.h"
#include "rows/row_copy.h"
#include "rows/row_counters.h"
#include "rows/row_set.h"

namespace plimsoll {

/// Reads rows of a file that does not fit into memory, for batches that are known long in advance. The most
/// used rows stay in memory. All other rows are copied in rounds: one pass over the file writes the rows for
/// some hundred batches into packs. A pack serves a few consecutive batches and is read as a whole when they
/// are due. The disk therefore has only long reads and writes, without wasted bytes (Liu et al., "DiskGNN",
/// SIGMOD 2025, whose packs are made only once, because they are the same in every epoch).
class SpilledFeatures final : public PackedBatches {
 public:
  struct Options {
    /// Approximate total memory (Tag::cache). The part that packs do not need is used for pinned rows.
    int64_t bytes = 0;
    int64_t scratch_bytes = 0;  ///< Disk space for two rounds.
    int64_t max_rows = 0;       ///< Maximum number of rows in a batch.
    int64_t max_note = 0;       ///< Maximum bytes of a note.
  };
  /// Returns the number of rows that stay in memory with these options; negative if there is no space for
  /// packs.
  static int64_t kept_rows(const RowLayout& layout, const Options& options);
  /// Returns the maximum number of rows in a pack.
  static int64_t pack_rows(const RowLayout& layout, const Options& options) {
    return sizes_for(layout, options).pack / layout.row_bytes;
  }
  /// Returns the bytes of one round, which are half of the scratch file.
  static int64_t round_bytes(const Options& options) {
    return options.scratch_bytes / 2 / ScratchFile::kAlignment * ScratchFile::kAlignment;
  }

  /// `uses` [rows] has the number of uses of each row in a sample of batches; the most used rows stay in
  /// memory. `scratch` must have scratch_bytes or more. Errors: those of RowReader, BudgetExceeded,
  /// ThreadRefused, UsageError (kept_rows() is negative).
  SpilledFeatures(const std::filesystem::path& path, const RowLayout& layout, const Options& options,
                  ScratchFile scratch, std::span<const uint8_t> uses)
      : SpilledFeatures(path, layout, RowCopy(layout.row_bytes), options, std::move(scratch), uses) {}
  /// Reads feature rows; read() returns them as f32.
  SpilledFeatures(const FeatureFile& rows, const Options& options, ScratchFile scratch,
                  std::span<const uint8_t> uses)
      : SpilledFeatures(rows.path, rows.layout(), RowCopy(rows.values), options, std::move(scratch), uses) {}
  ~SpilledFeatures() override;
  SpilledFeatures(const SpilledFeatures&) = delete;
  SpilledFeatures& operator=(const SpilledFeatures&) = delete;

  bool begin_round(const std::stop_token& stop) override;
  bool add(std::span<const int64_t> rows, std::span<const std::byte> note) override;
  bool write(const std::stop_token& stop) override;
  void fail(std::exception_ptr error) override;
  void forget(int64_t generation) override;
  bool read(int64_t generation, int64_t batch, const Placing& place) override;
  RowCounters counters() const override;

 private:
  using Clock = std::chrono::steady_clock;
  // Number of packs in memory: readers may use two while the next pack is read.
  static constexpr int kLoaded = 3;
  struct WaitingPack {
    Pack pack;
    size_t round = 0;
    int64_t left = 0;   // Number of batches that have not been read.
    bool over = false;  // Whether no more batches of the pack will be read.
  };
  struct LoadedPack {
    const WaitingPack* pack = nullptr;
    bool is_loaded = false;
    int readers = 0;
    MappedBytes bytes;  // Holds the notes, then the rows.
    RowSet set;
  };
  SpilledFeatures(const std::filesystem::path& path, const RowLayout& layout, RowCopy copy,
                  const Options& options, ScratchFile scratch, std::span<const uint8_t> uses);
  static PackSizes sizes_for(const RowLayout& layout, const Options& options);

  LoadedPack* loaded(const WaitingPack& waiting) PLIMSOLL_REQUIRES(mutex_);
  bool is_loaded(const WaitingPack& waiting) const PLIMSOLL_REQUIRES(mutex_);
  WaitingPack* pack_of(int64_t batch) PLIMSOLL_REQUIRES(mutex_);
  void release() PLIMSOLL_REQUIRES(mutex_);
  void end_packs_far_before(int64_t batch) PLIMSOLL_REQUIRES(mutex_);
  const WaitingPack* next_to_load() const PLIMSOLL_REQUIRES(mutex_);
  void load(LoadedPack& to, const WaitingPack& waiting);
  void run_loader(const std::stop_token& stop);
  void copy(const LoadedPack& from, const Place& place) const;

  int64_t row_bytes_;
  RowCopy copy_;
  PackSizes sizes_;
  ScratchFile scratch_;
  PinnedRows kept_;
  PackRound round_;    // Used only by the thread that makes rounds, like the next two members.
  size_t making_ = 1;  // Index of the round being made: 0 or 1.
  int64_t added_ = 0;  // Number of batches added so far.

  // Rows of two rounds: the round being made, which the thread that makes rounds changes, and the round being
  // read.
  std::array<PackedRows, 2> round_rows_;

  mutable Mutex mutex_;
  StoppableConditionVariable changed_;
  // Number of packs of each round that are not yet released.
  std::array<int64_t, 2> round_packs_ PLIMSOLL_GUARDED_BY(mutex_){};
  std::deque<WaitingPack, LedgerAllocator<WaitingPack, Tag::cache>> packs_ PLIMSOLL_GUARDED_BY(mutex_);
  // While a pack is being loaded or has readers, its bytes and its set are accessed without the lock.
  std::array<LoadedPack, kLoaded> loaded_ PLIMSOLL_GUARDED_BY(mutex_);
  int64_t ended_ PLIMSOLL_GUARDED_BY(mutex_) = 0;  // Batches before this index are released.
  int64_t generation_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  bool loading_ PLIMSOLL_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ PLIMSOLL_GUARDED_BY(mutex_);
  std::vector<int64_t> awaited_ PLIMSOLL_GUARDED_BY(mutex_);  // Batches for which calls of read() wait.
  Clock::time_point waiting_since_ PLIMSOLL_GUARDED_BY(mutex_);
  RowCounters counters_ PLIMSOLL_GUARDED_BY(mutex_);        // Counters without those of round_.
  RowCounters round_counters_ PLIMSOLL_GUARDED_BY(mutex_);  // Last known counters of round_.
  std::jthread thread_;  // Loads packs. The last member, so that it ends before the data it uses.
};

}  // namespace plimsoll
