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
#include <vector>

#include "io/row_reader.h"
#include "io/scratch_file.h"
#include "io/write_behind.h"
#include "memory/mapped_bytes.h"
#include "store/kept_rows.h"
#include "store/read_ahead.h"
#include "store/row_counters.h"
#include "store/row_set.h"

namespace plimsoll {

/// Rows of a file that does not fit into memory, for batches that are known long ahead. Rows that are used
/// most stay in memory. The others are copied in rounds: one pass over the file writes what some hundred
/// batches want of it into packs, each of which serves a few batches that follow each other and is read in
/// one piece when they come. A disk is then read and written in long pieces alone, of which all is wanted
/// (Liu et al., "DiskGNN", SIGMOD 2025, which packs once what is the same in every epoch).
///
/// One thread makes rounds: begin_round(), add() as long as it says so, write(). While a round is made the
/// one before is read, by any number of threads.
class RowPacks {
 public:
  struct Options {
    int64_t bytes = 0;          ///< for everything (Tag::cache), roughly; rows that stay get what is left
    int64_t scratch_bytes = 0;  ///< of the disk, for two rounds
    int64_t most_rows = 0;      ///< of a batch
    int64_t most_note = 0;      ///< bytes of the longest note
  };
  /// Rows that stay in memory with these options; less than 0: there is no room for packs.
  static int64_t kept_rows(const RowLayout& layout, const Options& options);
  /// Bytes of a round's half of the scratch file.
  static int64_t round_bytes(const Options& options) {
    return options.scratch_bytes / 2 / ScratchFile::kAlignment * ScratchFile::kAlignment;
  }

  /// `uses` [rows]: how often each row is used in some batches; of those that are used most some stay.
  /// Errors: those of RowReader, BudgetExceeded, UsageError (kept_rows() is less than 0, or 2^32 rows).
  RowPacks(const std::filesystem::path& path, const RowLayout& layout, const Options& options,
           ScratchFile scratch, std::span<const uint8_t> uses);
  ~RowPacks();
  RowPacks(const RowPacks&) = delete;
  RowPacks& operator=(const RowPacks&) = delete;

  /// Waits until there is room for a round. False: it was told to stop.
  bool begin_round(const std::stop_token& stop);
  /// Adds the next batch: its rows, all different, and bytes that come back with them. False: the round has
  /// no room for it, and nothing changed. Errors: those of the scratch file.
  bool add(std::span<const int64_t> rows, std::span<const std::byte> note);
  /// Has the round written; batches of it can be read from then on. False: it was told to stop. Errors: those
  /// of RowReader::read() and of the scratch file.
  bool write(const std::stop_token& stop);
  /// Whatever goes wrong with rounds is an error of read() from now on.
  void fail(std::exception_ptr error);
  /// Drops all rounds; batches are counted from 0 again.
  void forget();

  /// Where the rows of a batch go: [rows, row_bytes].
  struct Place {
    std::span<const int64_t> rows;
    std::byte* out = nullptr;
  };
  /// Waits for a batch, which was or will be added as the so-manieth from 0, and gives it, once: `place` is
  /// told its note, which is gone afterwards. False: batches too far behind it were read before, or forget()
  /// came. Errors: of fail() and of the scratch file.
  bool read(int64_t batch, const std::function<Place(std::span<const std::byte> note)>& place);

  RowCounters counters() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLoaded = 3;  // packs in memory: two batches may be read that are not of one pack
  // Sizes in bytes of what there is several of, all multiples of what the scratch file wants.
  struct Sizes {
    int64_t round = 0;   // of the scratch file
    int64_t pack = 0;    // rows of a pack
    int64_t notes = 0;   // notes of a pack
    int64_t packs = 0;   // how many a round has at most
    int64_t buffer = 0;  // in which a pack is written
    int64_t piece = 0;   // rows that are read at a time
    int64_t reader = 0;  // buffers of the reader
    int64_t all = 0;     // that all this takes, but for rows that stay
  };
  struct Pack {
    int64_t first_batch = 0;
    int64_t left = 0;                            // batches that were not read
    Vector<int64_t, Tag::cache> note_ends = {};  // of each batch
    int64_t notes_at = 0;                        // in the scratch file
    size_t first_row = 0;                        // in rows of its round
    size_t last_row = 0;
    int64_t rows_at = 0;  // in the scratch file
    int round = 0;
    bool written = false;
    bool over = false;
    int64_t end_batch() const { return first_batch + static_cast<int64_t>(note_ends.size()); }
    int64_t rows() const { return static_cast<int64_t>(last_row - first_row); }
  };
  struct Round {
    Vector<uint32_t, Tag::cache> rows;  // of its packs one after the other, each in ascending order
    int64_t packs = 0;                  // that are not over
  };
  struct Loaded {
    const Pack* pack = nullptr;
    bool there = false;
    int readers = 0;
    MappedBytes bytes;  // notes, then rows
    RowSet set;
  };
  static Sizes sizes_for(const RowLayout& layout, const Options& options);

  void close_pack();
  int64_t bytes_of_rows(int64_t rows) const;
  void fill(ReadAhead& piece);
  void hand_out(const ReadAhead& piece, int64_t first);
  void put(size_t pack, const std::byte* row);
  void flush(size_t pack);
  Loaded* loaded(const Pack& pack);
  Pack* pack_of(int64_t batch);
  void release();
  void end_far_behind(int64_t batch);
  const Pack* to_load() const;
  void load(Loaded& to, const Pack& pack);
  void load_on(const std::stop_token& stop);
  void copy(const Loaded& from, const Place& place) const;

  RowReader reader_;  // of who makes rounds, as what follows up to the mutex
  int64_t row_bytes_;
  Sizes sizes_;
  ScratchFile scratch_;
  KeptRows kept_;
  bool kept_are_read_ = false;
  ReadAhead piece_;
  ReadAhead next_piece_;
  RowSet wanted_;   // of the round that is made
  RowSet in_pack_;  // of its last pack
  int64_t next_row_ = 0;
  MappedBytes notes_;  // of the last pack, which is not closed
  Pack open_;
  int64_t open_notes_ = 0;
  int64_t used_ = 0;      // bytes of the round in the scratch file
  int64_t row_area_ = 0;  // of these, for rows of packs that are closed
  int making_ = 1;
  int64_t added_ = 0;  // batches so far
  WriteBehind writes_;
  Vector<std::byte*, Tag::cache> buffer_;   // of each pack: what waits to be written, or none
  Vector<int64_t, Tag::cache> in_buffer_;   // of each: so many bytes
  Vector<int64_t, Tag::cache> written_to_;  // of each: in the scratch file
  Vector<size_t, Tag::cache> handed_out_;   // of each: in rows of the round
  std::deque<Pack> made_;                   // of the round; then they go to packs_

  mutable std::mutex mutex_;  // guards what follows, but for what is loaded and has readers
  std::condition_variable_any changed_;
  std::array<Round, 2> rounds_;
  std::deque<Pack> packs_;
  std::array<Loaded, kLoaded> loaded_;
  int64_t ended_ = 0;      // batches before this one are gone
  int64_t forgotten_ = 0;  // how often
  bool loading_ = false;
  std::exception_ptr error_;
  int waiting_ = 0;  // calls of read() that wait
  Clock::time_point waiting_since_;
  RowCounters counters_;
  int64_t read_of_file_ = 0;
  std::jthread thread_;  // that loads; the last: it ends before what it works on
};

}  // namespace plimsoll
