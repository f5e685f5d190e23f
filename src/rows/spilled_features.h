#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"
#include "rows/feature_file.h"
#include "rows/pack_round.h"
#include "rows/pinned_rows.h"
#include "rows/row_copy.h"
#include "rows/row_counters.h"
#include "rows/row_set.h"

namespace plimsoll {

/// Rows of a file that does not fit into memory, for batches that are known long ahead. Rows that are used
/// most stay in memory. The others are copied in rounds: one pass over the file writes what some hundred
/// batches want of it into packs, each of which serves a few batches that follow each other and is read in
/// one piece when they come. A disk is then read and written in long pieces alone, of which all is wanted
/// (Liu et al., "DiskGNN", SIGMOD 2025, which packs once what is the same in every epoch).
///
/// One thread makes rounds: begin_round(), add() as long as it says so, write(). While a round is made the
/// one before is read, by any number of threads.
class SpilledFeatures {
 public:
  struct Options {
    int64_t bytes = 0;          ///< for everything (Tag::cache), roughly; rows that stay get what is left
    int64_t scratch_bytes = 0;  ///< of the disk, for two rounds
    int64_t max_rows = 0;       ///< of a batch
    int64_t max_note = 0;       ///< bytes of the longest note
  };
  /// Rows that stay in memory with these options; less than 0: there is no room for packs.
  static int64_t kept_rows(const RowLayout& layout, const Options& options);
  /// And rows of a pack.
  static int64_t pack_rows(const RowLayout& layout, const Options& options) {
    return sizes_for(layout, options).pack / layout.row_bytes;
  }
  /// Bytes of a round's half of the scratch file.
  static int64_t round_bytes(const Options& options) {
    return options.scratch_bytes / 2 / ScratchFile::kAlignment * ScratchFile::kAlignment;
  }

  /// `uses` [rows]: how often each row is used in some batches; of those that are used most some stay.
  /// Errors: those of RowReader, BudgetExceeded, UsageError (kept_rows() is less than 0, or 2^32 rows).
  SpilledFeatures(const std::filesystem::path& path, const RowLayout& layout, const Options& options,
                  ScratchFile scratch, std::span<const uint8_t> uses)
      : SpilledFeatures(path, layout, RowCopy(layout.row_bytes), options, std::move(scratch), uses) {}
  /// Rows of features, which read() gives as f32.
  SpilledFeatures(const FeatureFile& rows, const Options& options, ScratchFile scratch,
                  std::span<const uint8_t> uses)
      : SpilledFeatures(rows.path, rows.layout(), RowCopy(rows.values), options, std::move(scratch), uses) {}
  ~SpilledFeatures();
  SpilledFeatures(const SpilledFeatures&) = delete;
  SpilledFeatures& operator=(const SpilledFeatures&) = delete;

  /// Waits until there is room for a round. False: it was told to stop. Errors: those of the scratch file.
  bool begin_round(const std::stop_token& stop);
  /// As PackRound has them. Batches of a round can be read once it is written.
  bool add(std::span<const int64_t> rows, std::span<const std::byte> note);
  bool write(const std::stop_token& stop);
  /// Whatever goes wrong with rounds is an error of read() from now on.
  void fail(std::exception_ptr error);
  /// Drops all rounds; batches are counted from 0 again, and are those of this generation (0 at first).
  void forget(int64_t generation);

  /// Where the rows of a batch go: [rows, row_bytes] or f32 [rows, F].
  struct Place {
    std::span<const int64_t> rows;
    std::byte* out = nullptr;
  };
  /// Waits for batch number `batch` of a generation, counted from 0 in the order of add(), and gives it once:
  /// `place` gets its note, which is then deleted. False: the generation has changed, or batches too far
  /// after this one were read already. Errors: of fail() and of the scratch file.
  bool read(int64_t generation, int64_t batch,
            const std::function<Place(std::span<const std::byte> note)>& place);

  RowCounters counters() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLoaded = 3;  // packs in memory: who reads may be in two, while the next is read
  struct WaitingPack {
    Pack pack;
    size_t round = 0;
    int64_t left = 0;   // batches that were not read
    bool over = false;  // none of them will be
  };
  struct Round {
    PackedRows rows;
    int64_t packs = 0;  // that wait
  };
  struct Loaded {
    const WaitingPack* of = nullptr;
    bool there = false;
    int readers = 0;
    MappedBytes bytes;  // notes, then rows
    RowSet set;
  };
  SpilledFeatures(const std::filesystem::path& path, const RowLayout& layout, RowCopy copy,
                  const Options& options, ScratchFile scratch, std::span<const uint8_t> uses);
  static PackSizes sizes_for(const RowLayout& layout, const Options& options);

  Loaded* loaded(const WaitingPack& waiting);
  bool is_loaded(const WaitingPack& waiting) const;
  WaitingPack* pack_of(int64_t batch);
  void release();
  void end_far_behind(int64_t batch);
  const WaitingPack* to_load() const;
  void load(Loaded& to, const WaitingPack& waiting);
  void load_on(const std::stop_token& stop);
  void copy(const Loaded& from, const Place& place) const;

  int64_t row_bytes_;
  RowCopy copy_;
  PackSizes sizes_;
  ScratchFile scratch_;
  PinnedRows kept_;
  PackRound round_;    // of who makes rounds, as what follows
  size_t making_ = 1;  // which of rounds_
  int64_t added_ = 0;  // batches so far

  mutable std::mutex mutex_;  // guards what follows, but for what is loaded and has readers
  std::condition_variable_any changed_;
  std::array<Round, 2> rounds_;  // but for the rows of the one that is made
  std::deque<WaitingPack, LedgerAllocator<WaitingPack, Tag::cache>> packs_;
  std::array<Loaded, kLoaded> loaded_;
  int64_t ended_ = 0;  // batches before this one are gone
  int64_t generation_ = 0;
  bool loading_ = false;
  std::exception_ptr error_;
  std::vector<int64_t> awaited_;  // by calls of read()
  Clock::time_point waiting_since_;
  RowCounters counters_;  // but for those of round_
  RowCounters of_round_;  // as they were
  std::jthread thread_;   // that loads; the last: it ends before what it works on
};

}  // namespace plimsoll
