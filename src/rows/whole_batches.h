#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "io/row_reader.h"
#include "io/scratch_file.h"
#include "io/write_behind.h"
#include "memory/mapped_bytes.h"
#include "memory/vector.h"
#include "rows/batch_lists.h"
#include "rows/feature_file.h"
#include "rows/packed_batches.h"
#include "rows/pinned_rows.h"
#include "rows/row_copy.h"

namespace plimsoll {

/// Stores the rows of each batch separately in the scratch file, if the memory cannot hold even the rows of
/// one batch. A batch is read in long reads straight to its destination. To write a round, the rows of the
/// file are read in ranges that fit into memory, one range after the other. For each range, the rows that a
/// batch needs are appended to the batch, in the order of the batch. A reader that processes its rows range
/// by range therefore finds them in the order of the scratch file. The most used rows stay in memory.
///
/// In the scratch file, a batch consists of a list of its rows, range by range (BatchLists), followed by the
/// rows of each range. Each list and each range starts at a multiple of ScratchFile::kAlignment. There are no
/// notes.
class WholeBatches final : public PackedBatches {
 public:
  static constexpr int kReaders = 2;  ///< Number of threads that can read at the same time.
  struct Options {
    /// Total memory (Tag::cache). Memory that nothing else needs is used for pinned rows.
    int64_t bytes = 0;
    int64_t scratch_bytes = 0;  ///< Disk space for two rounds.
    int64_t max_rows = 0;       ///< Maximum number of rows in a batch.
  };
  /// Returns the number of rows that stay in memory with these options; negative if there is too little
  /// space.
  static int64_t kept_rows(const RowLayout& layout, const Options& options);
  /// Estimates the bytes that are written to the scratch file, and the bytes that are read from it, for a
  /// batch with `rows` rows that are not pinned. kept_rows() must not be negative.
  static std::pair<double, double> bytes_of_batch(const RowLayout& layout, const Options& options,
                                                  double rows);
  /// Returns the bytes of one round, which are half of the scratch file.
  static int64_t round_bytes(const Options& options) {
    return options.scratch_bytes / 2 / ScratchFile::kAlignment * ScratchFile::kAlignment;
  }

  /// `uses` [rows] has the number of uses of each row in a sample of batches; the most used rows stay in
  /// memory. `scratch` must have scratch_bytes or more. Errors: those of RowReader, BudgetExceeded,
  /// UsageError (kept_rows() is negative).
  WholeBatches(const FeatureFile& rows, const Options& options, ScratchFile scratch,
               std::span<const uint8_t> uses);

  bool begin_round(const std::stop_token& stop) override;
  bool add(std::span<const int64_t> rows, std::span<const std::byte> note) override;
  bool write(const std::stop_token& stop) override;
  void fail(std::exception_ptr error) override;
  void forget(int64_t generation) override;
  bool read(int64_t generation, int64_t batch, const Placing& place) override;
  RowCounters counters() const override;

 private:
  struct Sizes {
    int64_t kept = -1;       // Rows that stay in memory.
    int64_t range_rows = 0;  // Rows of a range.
    int64_t ranges = 0;
    int64_t max_batches = 0;  // Maximum number of batches in a round.
    int64_t list = 0;         // Bytes of a list of rows in the scratch file.
    int64_t lists = 0;        // Bytes of the buffer for lists.
    int64_t read = 0;         // Bytes of a buffer for reading.
    int64_t write = 0;        // Bytes of a buffer for writing.
  };
  struct Batch {
    int64_t rows_at = 0;   // Offset of the batch's rows in the scratch file.
    bool is_over = false;  // Whether the batch has been read or will never be read.
    int64_t next_at = 0;   // Offset at which the next row is written, while the round is made.
  };
  struct Round {
    bool is_ready = false;
    int64_t first_batch = 0;
    Vector<Batch, Tag::cache> batches = {};
    Vector<uint32_t, Tag::cache> counts = {};  // [batches, ranges], the number of rows.
    int64_t left = 0;                          // Number of batches that are not over.
    int64_t end_batch() const { return first_batch + std::ssize(batches); }
  };
  // The memory of a thread that reads a batch.
  struct Reader {
    bool is_free = true;
    MappedBytes buffer;  // The start of a row whose end is not yet read, followed by a part of the file.
    Vector<uint32_t, Tag::cache> order;      // Indices of the batch's rows, range by range.
    Vector<uint32_t, Tag::cache> next = {};  // [ranges], the next index in `order`.
  };
  static Sizes sizes_for(const RowLayout& layout, const Options& options);

  int64_t bytes_of(uint32_t rows) const;
  std::span<const uint32_t> counts_of(const Round& round, int64_t batch) const;
  void read_range(int64_t first, int64_t end);
  void fetch_lists(const Round& round, int64_t range);
  void write_range(Batch& batch, std::span<const uint16_t> rows);
  Round* round_of(int64_t batch) PLIMSOLL_REQUIRES(mutex_);
  void end_round_before(int64_t batch) PLIMSOLL_REQUIRES(mutex_);
  void end(Round& round, Batch& batch) PLIMSOLL_REQUIRES(mutex_);
  void sort_places(Reader& reader, std::span<const uint32_t> counts, const Place& place) const;
  RowCounters copy(Reader& reader, const Batch& batch, std::span<const uint32_t> counts,
                   const Place& place) const;

  int64_t row_bytes_;
  RowCopy copy_;
  Sizes sizes_;
  int64_t round_bytes_;
  ScratchFile scratch_;
  PinnedRows kept_;

  // The members from here to the mutex are used only by the thread that makes rounds.
  RowReader reader_;
  WriteBehind writes_;
  Vector<WantedRow, Tag::cache> wanted_;
  MappedBytes range_;  // Rows of a range.
  BatchLists lists_;
  Vector<uint32_t, Tag::cache> next_;  // [ranges], the next index in a list.
  int64_t next_kept_ = 0;  // First kept row that has not been read; RowSet::kNone if all have been read.
  size_t making_ = 1;      // Index of the round being made in rounds_.
  int64_t added_ = 0;      // Number of batches added so far.
  int64_t used_ = 0;       // Bytes of the round that are used.
  int64_t limit_ = 0;      // Maximum bytes of the round.

  mutable Mutex mutex_;
  StoppableConditionVariable changed_;
  // The mutex guards the round being read and the list of free readers. It does not guard the round being
  // made or the memory of a reader in use.
  std::array<Round, 2> rounds_;
  std::array<Reader, kReaders> readers_;
  int64_t ended_ PLIMSOLL_GUARDED_BY(mutex_) = 0;  // Batches before this index are released.
  int64_t generation_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  std::exception_ptr error_ PLIMSOLL_GUARDED_BY(mutex_);
  std::vector<int64_t> awaited_ PLIMSOLL_GUARDED_BY(mutex_);  // Batches for which calls of read() wait.
  RowCounters counters_ PLIMSOLL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
