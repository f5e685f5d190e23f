#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>

#include "io/row_reader.h"
#include "io/scratch_file.h"
#include "io/write_behind.h"
#include "memory/mapped_bytes.h"
#include "rows/pinned_rows.h"
#include "rows/read_ahead.h"
#include "rows/row_counters.h"
#include "rows/row_set.h"

namespace plimsoll {

/// Data of a few consecutive batches in a scratch file: their notes, and the rows that they need. Rows are
/// stored once each, in ascending order; rows that are kept in memory are not stored.
struct Pack {
  int64_t first_batch = 0;
  Vector<int64_t, Tag::cache> note_ends = {};  ///< End of each batch's note, relative to notes_at.
  int64_t notes_at = 0;                        ///< Offset in the scratch file.
  int64_t rows_at = 0;                         ///< Offset in the scratch file.
  /// The pack has the entries first_row .. last_row-1 of its round's PackedRows.
  size_t first_row = 0;
  size_t last_row = 0;

  int64_t batches() const { return static_cast<int64_t>(note_ends.size()); }
  int64_t end_batch() const { return first_batch + batches(); }
  int64_t rows() const { return static_cast<int64_t>(last_row - first_row); }
};

/// Rows of the packs of a round, one pack after the other. A file has fewer than 2^32 rows.
using PackedRows = Vector<uint32_t, Tag::cache>;

/// Sizes of packs and buffers. Unless stated otherwise they are in bytes and, except for `reader`, multiples
/// of ScratchFile::kAlignment.
struct PackSizes {
  int64_t round = 0;   ///< Scratch file bytes per round.
  int64_t pack = 0;    ///< Maximum bytes of the rows of a pack.
  int64_t notes = 0;   ///< Maximum bytes of the notes of a pack; 0: no notes.
  int64_t packs = 0;   ///< Maximum number of packs in a round.
  int64_t buffer = 0;  ///< Bytes of a write buffer.
  int64_t piece = 0;   ///< Number of rows that are read at a time.
  int64_t reader = 0;  ///< Buffers of the RowReader; not aligned.

  /// Returns sizes that suit a total memory of `bytes`, for rounds of `round` bytes, batches of at most
  /// `max_rows` rows and notes of at most `max_note` bytes. They may need more than `bytes`: the caller
  /// compares memory_bytes() with it.
  static PackSizes of(const RowLayout& layout, int64_t bytes, int64_t round, int64_t max_rows,
                      int64_t max_note);
  /// Rounds up to a multiple of ScratchFile::kAlignment.
  static int64_t aligned(int64_t bytes) {
    return (bytes + ScratchFile::kAlignment - 1) / ScratchFile::kAlignment * ScratchFile::kAlignment;
  }
  /// Returns the bytes of memory (Tag::cache) that a PackRound needs.
  int64_t memory_bytes(const RowLayout& layout) const;
};

/// Makes rounds of packs, one at a time. After the batches of a round are added, one pass over the file
/// copies their rows into the scratch file. Not thread-safe.
class PackRound {
 public:
  /// `kept` and `scratch` must outlive this object. Errors: those of RowReader, BudgetExceeded,
  /// ThreadRefused.
  PackRound(const std::filesystem::path& path, const RowLayout& layout, const PackSizes& sizes,
            PinnedRows& kept, ScratchFile& scratch);

  /// Starts a round in the bytes offset .. offset + bytes - 1 of the scratch file; `bytes` is at most
  /// sizes.round. Removes the content of `rows` and stores the rows of the packs in it, at most as many as
  /// its capacity; it must stay valid until the next begin(). Waits for pending writes of a cancelled round.
  /// Errors: those of the scratch file.
  void begin(int64_t offset, int64_t bytes, int64_t first_batch, PackedRows& rows);
  /// Maximum number of batches in a round of sizes.round bytes; a shorter round may have proportionally
  /// fewer. It is bounded because the reader of the first batch must wait until the last batch is added.
  static constexpr int64_t kMaxBatches = 2048;
  /// Adds a batch: its rows, which must be distinct, and a note, which is returned together with the rows.
  /// Returns false, without adding the batch, if the round is full. Errors: those of the scratch file;
  /// Failure if the batch's rows that are not kept need more than sizes.pack bytes, or its note more than
  /// sizes.notes.
  bool add(std::span<const int64_t> rows, std::span<const std::byte> note);
  /// Writes the round. The first call also reads the kept rows. Returns false, with the round incomplete, if
  /// `stop` was requested; the next call must be begin(). Errors: those of RowReader::read() and of the
  /// scratch file.
  bool write(const std::stop_token& stop);
  /// Returns the packs that write() wrote, in the order of their batches, until the next begin().
  Vector<Pack, Tag::cache>& packs() { return made_; }

  /// Returns the index of the batch that add() adds next.
  int64_t end_batch() const { return open_.end_batch(); }
  /// Returns the bytes given to begin().
  int64_t bytes() const { return bytes_; }
  RowCounters counters() const;

 private:
  void find_missed(std::span<const int64_t> rows);
  void close_pack();
  void add_kept_rows();
  void fill(ReadAhead& piece);
  void hand_out(const ReadAhead& piece, int64_t first);
  void put(size_t pack, const std::byte* row);
  void flush(size_t pack);
  int64_t bytes_of(int64_t rows) const { return PackSizes::aligned(rows * row_bytes_); }

  RowReader reader_;
  int64_t row_bytes_;
  PackSizes sizes_;
  PinnedRows& kept_;
  int64_t next_kept_;  // First kept row that has not been read; RowSet::kNone if all have been read.
  ReadAhead piece_;
  ReadAhead next_piece_;
  WriteBehind writes_;
  RowCounters counters_;

  int64_t offset_ = 0;     // Offset of the round in the scratch file.
  int64_t bytes_ = 0;      // Bytes of the round in the scratch file.
  int64_t end_batch_ = 0;  // Index of the first batch that cannot be in this round.
  PackedRows* rows_ = nullptr;
  Vector<Pack, Tag::cache> made_;        // Closed packs; has capacity for all packs of a round.
  RowSet wanted_;                        // Rows of the closed packs.
  int64_t note_area_ = 0;                // Bytes of the notes of closed packs, which are stored from the
                                         // start of the round.
  int64_t row_area_ = 0;                 // Bytes of the rows of closed packs, which are stored from the end
                                         // of the round.
  Pack open_;                            // The last pack, which is not yet closed.
  RowSet in_open_;                       // Rows of the open pack.
  int64_t open_rows_ = 0;                // Number of rows of the open pack.
  Vector<uint32_t, Tag::cache> missed_;  // New rows of the batch that is being added.
  MappedBytes notes_;                    // Notes of the open pack.

  int64_t next_row_ = 0;                    // First row of the file that has not been read.
  Vector<std::byte*, Tag::cache> buffer_;   // Data of each pack that has not been written, or null.
  Vector<int64_t, Tag::cache> in_buffer_;   // Bytes in each buffer_.
  Vector<int64_t, Tag::cache> written_to_;  // Next write offset of each pack in the scratch file.
  Vector<size_t, Tag::cache> handed_out_;   // Index into rows_ of the next row to copy, for each pack.
};

}  // namespace plimsoll
