#include "store/row_packs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int64_t kAlignment = ScratchFile::kAlignment;
constexpr int64_t kMiB = 1024 * 1024;
// Shares of the memory and bounds of what there is several of; measured in bench/results/giant.md.
constexpr int64_t kPackShare = 24;
constexpr int64_t kMostPack = 16 * kMiB;
constexpr int64_t kBuffersShare = 12;
constexpr int64_t kLeastBuffer = 16 * 1024;
constexpr int64_t kMostBuffer = 512 * 1024;
constexpr int64_t kPieceShare = 64;
constexpr int64_t kMostPiece = 8 * kMiB;
constexpr int64_t kReaderShare = 64;
constexpr int64_t kLeastReader = 256 * 1024;
constexpr int64_t kMostReader = 4 * kMiB;
constexpr int64_t kLongestPiece = 256 * 1024;
constexpr int64_t kLongestGap = 32 * 1024;
constexpr int kWritesUnderWay = 24;
constexpr int64_t kNotesShare = 8;  // of a pack's rows
constexpr int64_t kLeastPacks = 4;  // of a round
constexpr size_t kTogether = 256;   // rows that are looked up at a time
constexpr size_t kAhead = 8;        // rows that are on their way from memory

constexpr int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

RowReader::Options reading(const RowLayout& layout, int64_t buffers) {
  return {.way = {},
          .buffer_bytes = buffers,
          .longest_gap = kLongestGap,
          .longest_piece = std::max(layout.row_bytes, std::min(kLongestPiece, buffers / 8))};
}

}  // namespace

RowPacks::Sizes RowPacks::sizes_for(const RowLayout& layout, const Options& options) {
  Sizes sizes;
  sizes.round = round_bytes(options);
  // Long enough that its buffer is, too: a round is cut into as many packs as there is room for buffers.
  const int64_t buffers = std::max<int64_t>(options.bytes / kBuffersShare, 1);
  const int64_t most_rows = options.most_rows * layout.row_bytes;
  sizes.pack = aligned(std::max(
      {most_rows, std::min(options.bytes / kPackShare, kMostPack), sizes.round / buffers * kLeastBuffer}));
  sizes.notes = aligned(std::max(options.most_note, sizes.pack / kNotesShare));
  // Packs are closed before they are full.
  sizes.packs = sizes.round / sizes.pack * 5 / 4 + 2;
  sizes.buffer = aligned(std::clamp(buffers / sizes.packs, kAlignment, kMostBuffer));
  sizes.piece = std::clamp(options.bytes / kPieceShare, layout.row_bytes, kMostPiece) / layout.row_bytes;
  sizes.reader = std::clamp(options.bytes / kReaderShare, kLeastReader, kMostReader);
  const int64_t lists = 2 * (sizes.round / layout.row_bytes) * static_cast<int64_t>(sizeof(uint32_t));
  const auto piece = static_cast<int64_t>(sizeof(WantedRow) + sizeof(int32_t)) + layout.row_bytes;
  const int64_t loaded = sizes.pack + sizes.notes + RowSet::bytes_for(layout.rows);
  sizes.all = kLoaded * loaded + sizes.notes + (sizes.packs + kWritesUnderWay) * sizes.buffer + lists +
              2 * sizes.piece * piece + sizes.reader + sizes.reader / 4 + 3 * RowSet::bytes_for(layout.rows) +
              64 * 1024;
  return sizes;
}

int64_t RowPacks::kept_rows(const RowLayout& layout, const Options& options) {
  const Sizes sizes = sizes_for(layout, options);
  if (sizes.round < kLeastPacks * (sizes.pack + sizes.notes)) return -1;
  if (layout.rows > std::numeric_limits<uint32_t>::max()) return -1;
  const int64_t left = options.bytes - sizes.all;
  return left < 0 ? -1 : std::min(left / layout.row_bytes, layout.rows);
}

RowPacks::RowPacks(const std::filesystem::path& path, const RowLayout& layout, const Options& options,
                   ScratchFile scratch, std::span<const uint8_t> uses)
    : reader_(path, layout, reading(layout, sizes_for(layout, options).reader)),
      row_bytes_(layout.row_bytes),
      sizes_(sizes_for(layout, options)),
      scratch_(std::move(scratch)),
      kept_(layout, uses, std::max<int64_t>(kept_rows(layout, options), 0)),
      piece_(reader_, sizes_.piece),
      next_piece_(reader_, sizes_.piece),
      wanted_(layout.rows),
      in_pack_(layout.rows),
      notes_(Tag::cache, sizes_.notes),
      writes_(scratch_, sizes_.packs + kWritesUnderWay, sizes_.buffer, kWritesUnderWay),
      buffer_(static_cast<size_t>(sizes_.packs), nullptr),
      in_buffer_(static_cast<size_t>(sizes_.packs)),
      written_to_(static_cast<size_t>(sizes_.packs)),
      handed_out_(static_cast<size_t>(sizes_.packs)) {
  if (kept_rows(layout, options) < 0)
    throw UsageError(fmt::format("{} bytes and {} of the disk for rows of {} bytes in packs; expected more",
                                 options.bytes, options.scratch_bytes, layout.row_bytes));
  for (Round& round : rounds_) round.rows.reserve(static_cast<size_t>(sizes_.round / row_bytes_));
  for (Loaded& loaded : loaded_) {
    loaded.bytes = MappedBytes(Tag::cache, sizes_.notes + sizes_.pack);
    loaded.set = RowSet(layout.rows);
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { load_on(stop); });
}

RowPacks::~RowPacks() = default;

bool RowPacks::begin_round(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const int next = 1 - making_;
  if (!changed_.wait(lock, stop, [&] { return rounds_[static_cast<size_t>(next)].packs == 0; })) return false;
  making_ = next;
  rounds_[static_cast<size_t>(making_)].rows.clear();
  wanted_.clear();
  made_.clear();
  open_ = {.first_batch = added_};
  open_notes_ = used_ = row_area_ = 0;
  return true;
}

int64_t RowPacks::bytes_of_rows(int64_t rows) const {
  return aligned(rows * row_bytes_);
}

bool RowPacks::add(std::span<const int64_t> rows, std::span<const std::byte> note) {
  Vector<uint32_t, Tag::cache>& of_round = rounds_[static_cast<size_t>(making_)].rows;
  int64_t more = 0;
  for (const int64_t row : rows) more += !kept_.has(row) && !in_pack_.has(row);
  const auto notes = static_cast<int64_t>(note.size());
  if (more * row_bytes_ > sizes_.pack || notes > sizes_.notes)
    throw Failure(
        fmt::format("a batch of {} rows and {} bytes is packed, longer than the longest that was told",
                    rows.size(), notes));
  const auto open_rows = static_cast<int64_t>(of_round.size() - open_.first_row);
  const bool pack_is_full =
      (open_rows + more) * row_bytes_ > sizes_.pack || open_notes_ + notes > sizes_.notes;
  if (pack_is_full && !open_.note_ends.empty()) {
    close_pack();
    more = std::ranges::count_if(rows, [&](int64_t row) { return !kept_.has(row); });
  }
  const int64_t rows_of_pack = static_cast<int64_t>(of_round.size() - open_.first_row) + more;
  const bool has_room = std::ssize(made_) + 1 < sizes_.packs &&
                        used_ + aligned(open_notes_ + notes) + bytes_of_rows(rows_of_pack) <= sizes_.round &&
                        of_round.size() + static_cast<size_t>(more) <= of_round.capacity();
  if (!has_room) return false;
  for (const int64_t row : rows) {
    if (kept_.has(row) || in_pack_.has(row)) continue;
    in_pack_.add(row);
    of_round.push_back(static_cast<uint32_t>(row));
  }
  std::memcpy(notes_.data() + open_notes_, note.data(), note.size());
  open_notes_ += notes;
  open_.note_ends.push_back(open_notes_);
  ++added_;
  const std::lock_guard lock(mutex_);
  counters_.hits += static_cast<int64_t>(rows.size()) - more;
  counters_.misses += more;
  counters_.bytes_useful += more * row_bytes_;
  return true;
}

// What is known of the last pack is all; its notes are written.
void RowPacks::close_pack() {
  if (open_.note_ends.empty()) return;
  Vector<uint32_t, Tag::cache>& of_round = rounds_[static_cast<size_t>(making_)].rows;
  const auto first = of_round.begin() + static_cast<std::ptrdiff_t>(open_.first_row);
  std::sort(first, of_round.end());
  for (auto row = first; row != of_round.end(); ++row) {
    in_pack_.remove(*row);
    wanted_.add(*row);
  }
  open_.last_row = of_round.size();
  open_.left = std::ssize(open_.note_ends);
  open_.round = making_;
  // Notes from the begin of the round's half on, rows from its end.
  open_.notes_at = making_ * sizes_.round + used_ - row_area_;
  const int64_t notes = aligned(open_notes_);
  for (int64_t at = 0; at < notes; at += sizes_.buffer) {
    const int64_t some = std::min(sizes_.buffer, notes - at);
    std::byte* const buffer = writes_.take();
    std::memcpy(buffer, notes_.data() + at, static_cast<size_t>(some));
    writes_.write(buffer, open_.notes_at + at, some);
  }
  row_area_ += bytes_of_rows(open_.rows());
  used_ += notes + bytes_of_rows(open_.rows());
  open_.rows_at = (making_ + 1) * sizes_.round - row_area_;
  {
    const std::lock_guard lock(mutex_);
    counters_.bytes_written += notes;
  }
  Pack next{.first_batch = added_};
  next.first_row = of_round.size();
  made_.push_back(std::exchange(open_, std::move(next)));
  open_notes_ = 0;
}

bool RowPacks::write(const std::stop_token& stop) {
  close_pack();
  if (!std::exchange(kept_are_read_, true)) kept_.read(reader_);
  wanted_.number();
  for (size_t p = 0; p < made_.size(); ++p) {
    in_buffer_[p] = 0;  // what a round that was given up has left there is written over
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
  const std::lock_guard lock(mutex_);
  read_of_file_ = reader_.counts().bytes_read;
  rounds_[static_cast<size_t>(making_)].packs = std::ssize(made_);
  for (Pack& pack : made_) packs_.push_back(std::move(pack));
  made_.clear();
  changed_.notify_all();
  return true;
}

// The next rows that are wanted.
void RowPacks::fill(ReadAhead& piece) {
  while (!piece.full() && next_row_ != RowSet::kNone) {
    const int64_t row = wanted_.next(next_row_);
    if (row != RowSet::kNone) piece.add(row, 0);
    next_row_ = row == RowSet::kNone ? row : row + 1;
  }
}

// To each pack what it wants of a piece, whose rows are the ones from `first` on of those that are wanted.
void RowPacks::hand_out(const ReadAhead& piece, int64_t first) {
  const Vector<uint32_t, Tag::cache>& rows = rounds_[static_cast<size_t>(making_)].rows;
  const int64_t end = first + std::ssize(piece);
  for (size_t p = 0; p < made_.size(); ++p) {
    for (size_t& at = handed_out_[p]; at < made_[p].last_row; ++at) {
      const int64_t index = wanted_.index(rows[at]);
      if (index >= end) break;
      put(p, piece.data(static_cast<size_t>(index - first)));
    }
  }
}

void RowPacks::put(size_t pack, const std::byte* row) {
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

void RowPacks::flush(size_t pack) {
  if (buffer_[pack] == nullptr) return;
  const int64_t bytes = aligned(in_buffer_[pack]);
  writes_.write(std::exchange(buffer_[pack], nullptr), written_to_[pack], bytes);
  written_to_[pack] += bytes;
  in_buffer_[pack] = 0;
  const std::lock_guard lock(mutex_);
  counters_.bytes_written += bytes;
}

void RowPacks::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  changed_.notify_all();
}

void RowPacks::forget() {
  std::unique_lock lock(mutex_);
  ++forgotten_;
  changed_.notify_all();
  changed_.wait(lock, [&] {
    return !loading_ && std::ranges::all_of(loaded_, [](const Loaded& one) { return one.readers == 0; });
  });
  for (Loaded& loaded : loaded_) loaded.pack = nullptr;
  packs_.clear();
  for (Round& round : rounds_) round.packs = 0;
  added_ = ended_ = 0;
  in_pack_.clear();
}

RowPacks::Loaded* RowPacks::loaded(const Pack& pack) {
  const auto found = std::ranges::find(loaded_, &pack, &Loaded::pack);
  return found == loaded_.end() ? nullptr : &*found;
}

RowPacks::Pack* RowPacks::pack_of(int64_t batch) {
  const auto behind = std::ranges::upper_bound(packs_, batch, {}, &Pack::first_batch);
  if (behind == packs_.begin() || std::prev(behind)->end_batch() <= batch) return nullptr;
  return &*std::prev(behind);
}

// Gives back what is held of packs that nobody will read any more.
void RowPacks::release() {
  for (Loaded& one : loaded_)
    if (one.pack != nullptr && one.pack->over && one.there && one.readers == 0) one.pack = nullptr;
  while (!packs_.empty() && packs_.front().over && loaded(packs_.front()) == nullptr) {
    --rounds_[static_cast<size_t>(packs_.front().round)].packs;
    ended_ = packs_.front().end_batch();
    packs_.pop_front();
  }
  changed_.notify_all();
}

// Who waits for a batch has passed packs that stand too far before its own to be in memory with it, and the
// older of two rounds if it is in none.
void RowPacks::end_far_behind(int64_t batch) {
  const Pack* const pack = pack_of(batch);
  if (pack == nullptr && (rounds_[0].packs == 0 || rounds_[1].packs == 0)) return;
  int ahead = kLoaded;
  for (auto before = packs_.rbegin(); before != packs_.rend(); ++before) {
    const bool too_far = pack == nullptr ? before->round == packs_.front().round
                                         : before->first_batch < pack->first_batch && --ahead <= 0;
    before->over = before->over || too_far;
  }
  release();
}

bool RowPacks::read(int64_t batch, const std::function<Place(std::span<const std::byte>)>& place) {
  std::unique_lock lock(mutex_);
  const int64_t forgotten = forgotten_;
  Loaded* from = nullptr;
  const auto is_decided = [&] {
    if (error_ || forgotten_ != forgotten) return true;
    Pack* const pack = pack_of(batch);
    if (pack == nullptr) return batch < ended_;
    if (pack->over) return true;
    from = loaded(*pack);
    return from != nullptr && from->there;
  };
  if (!is_decided()) {
    if (waiting_++ == 0) waiting_since_ = Clock::now();
    do {
      end_far_behind(batch);
      if (is_decided()) break;
      changed_.wait(lock);
    } while (!is_decided());
    if (--waiting_ == 0)
      counters_.waited_seconds += std::chrono::duration<double>(Clock::now() - waiting_since_).count();
  }
  if (error_) std::rethrow_exception(error_);
  if (forgotten_ != forgotten || from == nullptr || !from->there) return false;
  Pack& pack = *pack_of(batch);
  const auto in_pack = static_cast<size_t>(batch - pack.first_batch);
  const int64_t begin = in_pack == 0 ? 0 : pack.note_ends[in_pack - 1];
  const std::span note(from->bytes.data() + begin, static_cast<size_t>(pack.note_ends[in_pack] - begin));
  ++from->readers;
  lock.unlock();
  std::exception_ptr error;
  try {
    copy(*from, place(note));
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  --from->readers;
  if (--pack.left == 0) pack.over = true;
  release();
  if (error) std::rethrow_exception(error);
  return true;
}

void RowPacks::copy(const Loaded& from, const Place& place) const {
  const std::byte* const packed = from.bytes.data() + sizes_.notes;
  const auto row_bytes = static_cast<size_t>(row_bytes_);
  std::array<const std::byte*, kTogether> rows;
  for (size_t first = 0; first < place.rows.size(); first += kTogether) {
    const auto some = place.rows.subspan(first, std::min(kTogether, place.rows.size() - first));
    for (size_t i = 0; i < some.size(); ++i) {
      if (i + kAhead < some.size()) {
        kept_.prefetch(some[i + kAhead]);
        from.set.prefetch(some[i + kAhead]);
      }
      rows[i] = kept_.find(some[i]);
      if (rows[i] != nullptr) continue;
      const int64_t index = from.set.index(some[i]);
      if (index == RowSet::kNone) throw Failure("a row is read that is not in the pack of its batch");
      rows[i] = packed + index * row_bytes_;
    }
    for (size_t i = 0; i < some.size(); ++i) {
      if (i + kAhead < some.size()) __builtin_prefetch(rows[i + kAhead]);
      std::memcpy(place.out + (first + i) * row_bytes, rows[i], row_bytes);
    }
  }
}

// The first pack that is not in memory and that somebody will read.
const RowPacks::Pack* RowPacks::to_load() const {
  if (error_ || std::ranges::find(loaded_, nullptr, &Loaded::pack) == loaded_.end()) return nullptr;
  const auto found = std::ranges::find_if(packs_, [&](const Pack& pack) {
    return !pack.over && std::ranges::find(loaded_, &pack, &Loaded::pack) == loaded_.end();
  });
  return found == packs_.end() ? nullptr : &*found;
}

void RowPacks::load(Loaded& to, const Pack& pack) {
  const int64_t notes = aligned(pack.note_ends.back());
  scratch_.read(pack.notes_at, std::span(to.bytes.data(), static_cast<size_t>(notes)));
  const int64_t rows = bytes_of_rows(pack.rows());
  scratch_.read(pack.rows_at, std::span(to.bytes.data() + sizes_.notes, static_cast<size_t>(rows)));
  to.set.clear();
  const Vector<uint32_t, Tag::cache>& of_round = rounds_[static_cast<size_t>(pack.round)].rows;
  for (size_t at = pack.first_row; at < pack.last_row; ++at) to.set.add(of_round[at]);
  to.set.number();
  const std::lock_guard lock(mutex_);
  counters_.bytes_read += notes + rows;
}

void RowPacks::load_on(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return to_load() != nullptr; })) {
    const Pack* const pack = to_load();
    Loaded& to = *std::ranges::find(loaded_, nullptr, &Loaded::pack);
    to.pack = pack;
    to.there = false;
    loading_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      load(to, *pack);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    loading_ = false;
    to.there = true;
    if (error) error_ = error;
    release();
  }
}

RowCounters RowPacks::counters() const {
  const std::lock_guard lock(mutex_);
  RowCounters counters = counters_;
  counters.bytes_read += read_of_file_;
  return counters;
}

}  // namespace plimsoll
