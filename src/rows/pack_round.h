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

/// What a few batches that follow each other want of a file, in a scratch file: their notes, and their rows
/// but for those that are kept in memory, each once and in ascending order.
struct Pack {
  int64_t first_batch = 0;
  Vector<int64_t, Tag::cache> note_ends = {};  ///< of each batch
  int64_t notes_at = 0;                        ///< in the scratch file
  int64_t rows_at = 0;                         ///< likewise
  size_t first_row = 0;                        ///< first_row .. last_row-1 of the rows of its round
  size_t last_row = 0;

  int64_t batches() const { return static_cast<int64_t>(note_ends.size()); }
  int64_t end_batch() const { return first_batch + batches(); }
  int64_t rows() const { return static_cast<int64_t>(last_row - first_row); }
};

/// Rows of packs of a round one after the other: there are less than 2^32 in a file.
using PackedRows = Vector<uint32_t, Tag::cache>;

/// In bytes, all multiples of what the scratch file wants, where nothing else is said.
struct PackSizes {
  int64_t round = 0;   ///< of the scratch file
  int64_t pack = 0;    ///< rows of a pack
  int64_t notes = 0;   ///< notes of a pack
  int64_t packs = 0;   ///< how many a round has at most
  int64_t buffer = 0;  ///< in which a pack is written
  int64_t piece = 0;   ///< rows that are read at a time
  int64_t reader = 0;  ///< buffers of the reader

  /// Of packs that have `bytes` of memory and are for batches of no more than so many rows and bytes of a
  /// note.
  static PackSizes of(const RowLayout& layout, int64_t bytes, int64_t round, int64_t max_rows,
                      int64_t max_note);
  static int64_t aligned(int64_t bytes) {
    return (bytes + ScratchFile::kAlignment - 1) / ScratchFile::kAlignment * ScratchFile::kAlignment;
  }
  /// Memory (Tag::cache) that a PackRound takes.
  int64_t of_round(const RowLayout& layout) const;
};

/// Makes rounds of packs, one at a time: batches are added, and one pass over the file copies what they want
/// into the scratch file. Not thread-safe.
class PackRound {
 public:
  /// What is given has to outlive it. Errors: those of RowReader, BudgetExceeded.
  PackRound(const std::filesystem::path& path, const RowLayout& layout, const PackSizes& sizes,
            PinnedRows& kept, ScratchFile& scratch);

  /// The next round goes to `offset` .. offset + bytes of the scratch file, no more than sizes.round, the
  /// rows of its packs to `rows`, which has room for them. Waits for what a round that was given up still
  /// writes. Errors: those of the scratch file.
  void begin(int64_t offset, int64_t bytes, int64_t first_batch, PackedRows& rows);
  /// Batches of a round that has all of its bytes at most: who waits for the first waits for the last.
  static constexpr int64_t kMaxBatches = 2048;
  /// Adds a batch: its rows, all different, and bytes that come back with them. False: the round has no room
  /// for it, and nothing changed. Errors: those of the scratch file; Failure for a batch that is too long.
  bool add(std::span<const int64_t> rows, std::span<const std::byte> note);
  /// Has the round written, with the first one the rows that are kept read. False: it was told to stop.
  /// Errors: those of RowReader::read() and of the scratch file.
  bool write(const std::stop_token& stop);
  /// What write() wrote, in the order of batches.
  Vector<Pack, Tag::cache>& packs() { return made_; }

  int64_t end_batch() const { return open_.end_batch(); }
  /// Of the scratch file, as begin() had it.
  int64_t bytes() const { return bytes_; }
  RowCounters counters() const;

 private:
  void find_missed(std::span<const int64_t> rows);
  void close_pack();
  void want_kept();
  void fill(ReadAhead& piece);
  void hand_out(const ReadAhead& piece, int64_t first);
  void put(size_t pack, const std::byte* row);
  void flush(size_t pack);
  int64_t bytes_of(int64_t rows) const { return PackSizes::aligned(rows * row_bytes_); }

  RowReader reader_;
  int64_t row_bytes_;
  PackSizes sizes_;
  PinnedRows& kept_;
  int64_t next_kept_;  // the first row of these that was not read; RowSet::kNone: all were
  ReadAhead piece_;
  ReadAhead next_piece_;
  WriteBehind writes_;
  RowCounters counters_;

  int64_t offset_ = 0;     // of the round in the scratch file
  int64_t bytes_ = 0;      // of it
  int64_t end_batch_ = 0;  // it has none from this one on
  PackedRows* rows_ = nullptr;
  Vector<Pack, Tag::cache> made_;        // that are closed; has room for those of a round
  RowSet wanted_;                        // rows of these
  int64_t note_area_ = 0;                // bytes of their notes, from the start of the round on
  int64_t row_area_ = 0;                 // and of their rows, from its end
  Pack open_;                            // the last, which is not closed
  RowSet in_open_;                       // its rows
  int64_t open_rows_ = 0;                // how many they are
  Vector<uint32_t, Tag::cache> missed_;  // of a batch that is added
  MappedBytes notes_;                    // its notes

  int64_t next_row_ = 0;                    // the first that was not read
  Vector<std::byte*, Tag::cache> buffer_;   // of each pack: what waits to be written, or none
  Vector<int64_t, Tag::cache> in_buffer_;   // of each: so many bytes
  Vector<int64_t, Tag::cache> written_to_;  // of each: in the scratch file
  Vector<size_t, Tag::cache> handed_out_;   // of each: in rows_
};

}  // namespace plimsoll
