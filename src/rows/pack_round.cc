#include "rows/pack_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int64_t kMiB = 1024 * 1024;
// A share of k means 1/k of the memory. Shares and bounds were measured in bench/results/giant.md.
constexpr int64_t kPackShare = 24;
constexpr int64_t kMaxPack = 16 * kMiB;
constexpr int64_t kBuffersShare = 12;
constexpr int64_t kMinBuffer = 16 * 1024;
constexpr int64_t kMaxBuffer = 512 * 1024;
constexpr int64_t kReadShare = 64;
constexpr int64_t kMaxPiece = 8 * kMiB;
constexpr int64_t kReaderShare = 64;
constexpr int64_t kMinReader = 256 * 1024;
constexpr int64_t kMaxReader = 4 * kMiB;
constexpr int64_t kLongestPackRead = 256 * 1024;
constexpr int64_t kLongestPackGap = 32 * 1024;
constexpr int64_t kNotesShare = 8;  // Share of the bytes of a pack's rows.
constexpr int kWritesUnderWay = 24;

RowReader::Options reading_packs(const RowLayout& layout, int64_t buffers) {
  return {.way = {},
          .buffer_bytes = buffers,
          .longest_gap = kLongestPackGap,
          .longest_piece = std::max(layout.row_bytes, std::min(kLongestPackRead, buffers / 8))};
}

}  // namespace

PackSizes PackSizes::of(const RowLayout& layout, int64_t bytes, int64_t round, int64_t max_rows,
                        int64_t max_note) {
  PackSizes sizes;
  sizes.round = round;
  // A round has one buffer per pack, so larger packs allow larger buffers.
  const int64_t buffers = std::max<int64_t>(bytes / kBuffersShare, 1);
  sizes.pack = aligned(std::max({max_rows * layout.row_bytes, std::min(bytes / kPackShare, kMaxPack),
                                 sizes.round / buffers * kMinBuffer}));
  if (max_note > 0) sizes.notes = aligned(std::max(max_note, sizes.pack / kNotesShare));
  // Packs are closed before they are completely full, so a round may need some more packs.
  sizes.packs = sizes.round / sizes.pack * 5 / 4 + 2;
  sizes.buffer = aligned(std::clamp(buffers / sizes.packs, int64_t{1}, kMaxBuffer));
  sizes.piece = std::clamp(bytes / kReadShare, layout.row_bytes, kMaxPiece) / layout.row_bytes;
  sizes.reader = std::clamp(bytes / kReaderShare, kMinReader, kMaxReader);
  return sizes;
}

int64_t PackSizes::memory_bytes(const RowLayout& layout) const {
  const auto bytes_per_row = static_cast<int64_t>(sizeof(WantedRow) + sizeof(int32_t)) + layout.row_bytes;
  const int64_t missed = pack / layout.row_bytes * static_cast<int64_t>(sizeof(uint32_t));
  return notes + missed + (packs + kWritesUnderWay) * buffer + 2 * piece * bytes_per_row + reader +
         reader / 4 + 2 * RowSet::bytes_for(layout.rows) + packs * static_cast<int64_t>(sizeof(Pack)) +
         48 * 1024;
}

PackRound::PackRound(const std::filesystem::path& path, const RowLayout& layout, const PackSizes& sizes,
                     PinnedRows& kept, ScratchFile& scratch)
    : reader_(path, layout, reading_packs(layout, sizes.reader)),
      row_bytes_(layout.row_bytes),
      sizes_(sizes),
      kept_(kept),
      next_kept_(kept.next(0)),
      piece_(reader_, sizes.piece),
      next_piece_(reader_, sizes.piece),
      writes_(scratch, sizes.packs + kWritesUnderWay, sizes.buffer, kWritesUnderWay),
      wanted_(layout.rows),
      in_open_(layout.rows),
      notes_(Tag::cache, sizes.notes),
      buffer_(static_cast<size_t>(sizes.packs), nullptr),
      in_buffer_(static_cast<size_t>(sizes.packs)),
      written_to_(static_cast<size_t>(sizes.packs)),
      handed_out_(static_cast<size_t>(sizes.packs)) {
  made_.reserve(static_cast<size_t>(sizes.packs));
}

void PackRound::begin(int64_t offset, int64_t bytes, int64_t first_batch, PackedRows& rows) {
  writes_.finish();
  offset_ = offset;
  bytes_ = bytes;
  open_rows_ = 0;
  rows_ = &rows;
  rows.clear();
  made_.clear();
  wanted_.clear();
  in_open_.clear();
  open_ = {.first_batch = first_batch};
  end_batch_ = first_batch + std::max<int64_t>(kMaxBatches * bytes / sizes_.round, 1);
  note_area_ = row_area_ = 0;
}

// Collects the rows that are neither kept nor in the open pack.
void PackRound::find_missed(std::span<const int64_t> rows) {
  missed_.clear();
  for (const int64_t row : rows)
    if (!kept_.has(row) && !in_open_.has(row)) missed_.push_back(static_cast<uint32_t>(row));
}

bool PackRound::add(std::span<const int64_t> rows, std::span<const std::byte> note) {
  if (end_batch() >= end_batch_) return false;
  find_missed(rows);
  int64_t more = std::ssize(missed_);
  const auto notes = static_cast<int64_t>(note.size());
  if (more * row_bytes_ > sizes_.pack || notes > sizes_.notes)
    throw Failure(fmt::format("a batch of {} rows and {} bytes is larger than the announced maximum",
                              rows.size(), notes));
  const auto open_notes = [&] { return open_.note_ends.empty() ? 0 : open_.note_ends.back(); };
  if ((open_rows_ + more) * row_bytes_ > sizes_.pack || open_notes() + notes > sizes_.notes) {
    close_pack();
    find_missed(rows);
    more = std::ssize(missed_);
  }
  const bool has_room =
      std::ssize(made_) < sizes_.packs &&
      rows_->size() + static_cast<size_t>(open_rows_ + more) <= rows_->capacity() &&
      note_area_ + row_area_ + PackSizes::aligned(open_notes() + notes) + bytes_of(open_rows_ + more) <=
          bytes_;
  if (!has_room) return false;
  for (const uint32_t row : missed_) in_open_.add(row);
  open_rows_ += more;
  std::ranges::copy(note, notes_.data() + open_notes());
  open_.note_ends.push_back(open_notes() + notes);
  counters_.hits += std::ssize(rows) - more;
  counters_.misses += more;
  counters_.bytes_useful += more * row_bytes_;
  return true;
}

// Closes the open pack: its rows are final, and its notes are written.
void PackRound::close_pack() {
  if (open_.note_ends.empty()) return;
  in_open_.take_all([&](int64_t row) {
    rows_->push_back(static_cast<uint32_t>(row));
    wanted_.add(row);
  });
  open_.last_row = rows_->size();
  open_rows_ = 0;
  const int64_t notes = PackSizes::aligned(open_.note_ends.back());
  open_.notes_at = offset_ + note_area_;
  note_area_ += notes;
  row_area_ += bytes_of(open_.rows());
  open_.rows_at = offset_ + bytes_ - row_area_;
  for (int64_t at = 0; at < notes; at += sizes_.buffer) {
    const int64_t some = std::min(sizes_.buffer, notes - at);
    std::byte* const buffer = writes_.take();
    std::memcpy(buffer, notes_.data() + at, static_cast<size_t>(some));
    writes_.write(buffer, open_.notes_at + at, some);
  }
  counters_.bytes_written += notes;
  Pack next{.first_batch = open_.end_batch()};
  next.first_row = next.last_row = rows_->size();
  made_.push_back(std::exchange(open_, std::move(next)));
}

bool PackRound::write(const std::stop_token& stop) {
  close_pack();
  add_kept_rows();
  wanted_.number();
  for (size_t p = 0; p < made_.size(); ++p) {
    in_buffer_[p] = 0;  // This overwrites the data that a cancelled round left there.
    written_to_[p] = made_[p].rows_at;
    handed_out_[p] = made_[p].first_row;
  }
  next_row_ = 0;
  piece_.clear();
  next_piece_.clear();
  ReadAhead* piece = &piece_;
  ReadAhead* next = &next_piece_;
  fill(*piece);
  piece->begin();
  for (int64_t first = 0; piece->size() > 0; std::swap(piece, next)) {
    fill(*next);
    piece->wait();
    if (stop.stop_requested()) return false;
    next->begin();
    hand_out(*piece, first);
    first += std::ssize(*piece);
    piece->clear();
  }
  for (size_t p = 0; p < made_.size(); ++p) flush(p);
  writes_.finish();
  return true;
}

// A pass over the file also reads the rows that are kept in memory. After a cancelled pass, the next pass
// continues with the rows that are still missing.
void PackRound::add_kept_rows() {
  for (int64_t row = next_kept_; row != RowSet::kNone; row = kept_.next(row + 1)) wanted_.add(row);
}

// Adds the next wanted rows to `piece`.
void PackRound::fill(ReadAhead& piece) {
  while (!piece.full() && next_row_ != RowSet::kNone) {
    const int64_t row = wanted_.next(next_row_);
    if (row != RowSet::kNone) piece.add(row, 0);
    next_row_ = row == RowSet::kNone ? row : row + 1;
  }
}

// Copies the rows of a chunk, `piece`, to the packs that want them and to the kept rows. `first` is the index
// of the chunk's first row among the wanted rows.
void PackRound::hand_out(const ReadAhead& piece, int64_t first) {
  const int64_t end = first + std::ssize(piece);
  for (; next_kept_ != RowSet::kNone && wanted_.index(next_kept_) < end;
       next_kept_ = kept_.next(next_kept_ + 1))
    kept_.put(next_kept_, piece.data(static_cast<size_t>(wanted_.index(next_kept_) - first)));
  for (size_t p = 0; p < made_.size(); ++p) {
    for (size_t& at = handed_out_[p]; at < made_[p].last_row; ++at) {
      const int64_t index = wanted_.index((*rows_)[at]);
      if (index >= end) break;
      put(p, piece.data(static_cast<size_t>(index - first)));
    }
  }
}

void PackRound::put(size_t pack, const std::byte* row) {
  for (int64_t left = row_bytes_; left > 0;) {
    if (buffer_[pack] == nullptr) buffer_[pack] = writes_.take();
    const int64_t some = std::min(left, sizes_.buffer - in_buffer_[pack]);
    std::memcpy(buffer_[pack] + in_buffer_[pack], row, static_cast<size_t>(some));
    in_buffer_[pack] += some;
    row += some;
    left -= some;
    if (in_buffer_[pack] == sizes_.buffer) flush(pack);
  }
}

void PackRound::flush(size_t pack) {
  if (buffer_[pack] == nullptr) return;
  const int64_t bytes = PackSizes::aligned(in_buffer_[pack]);
  writes_.write(std::exchange(buffer_[pack], nullptr), written_to_[pack], bytes);
  written_to_[pack] += bytes;
  in_buffer_[pack] = 0;
  counters_.bytes_written += bytes;
}

RowCounters PackRound::counters() const {
  RowCounters counters = counters_;
  counters.bytes_read = reader_.counts().bytes_read;
  return counters;
}

}  // namespace plimsoll
