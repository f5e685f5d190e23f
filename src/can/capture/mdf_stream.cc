#include "can/capture/mdf_stream.h"

#include <emmintrin.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

constexpr uint64_t kMaxHeld = 4 << 20;       // Maximum bytes of a transposed block in memory.
constexpr uint64_t kMaxFiledColumns = 1024;  // Maximum columns of a block that goes through a file.
constexpr uint64_t kTile = 16 << 10;         // Bytes of rows that are assembled at once.
constexpr uint64_t kPacked = 24;             // Bytes before the zlib data of a DZ block.

// Whether the budget allows memory for a block that could also go through a file. There may be many streams.
bool fits_budget(uint64_t bytes) {
  const Ledger& ledger = Ledger::process();
  constexpr int64_t kOthers = 8 * kMiB;
  return bytes <= kMaxHeld && ledger.cap() - ledger.held() > kOthers + static_cast<int64_t>(bytes);
}

// Returns `bytes` bytes of `memory`, aligned for ScratchFile.
std::span<uint8_t> aligned(Vector<uint8_t, Tag::ingest>& memory, uint64_t bytes) {
  constexpr uint64_t kAlignment = ScratchFile::kAlignment;
  if (memory.size() < bytes + kAlignment) memory.resize(bytes + kAlignment);
  const auto at = reinterpret_cast<uintptr_t>(memory.data());
  return {memory.data() + ((at + kAlignment - 1) / kAlignment * kAlignment - at), bytes};
}

// Transposes eight columns, whose bytes are `column` apart, to eight rows that are `row` apart.
void transpose_eight(const uint8_t* from, uint64_t column, char* to, uint64_t row) {
  const auto load = [&](uint64_t k) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + k * column));
  };
  const __m128i two[4] = {_mm_unpacklo_epi8(load(0), load(1)), _mm_unpacklo_epi8(load(2), load(3)),
                          _mm_unpacklo_epi8(load(4), load(5)), _mm_unpacklo_epi8(load(6), load(7))};
  const __m128i four[4] = {_mm_unpacklo_epi16(two[0], two[1]), _mm_unpacklo_epi16(two[2], two[3]),
                           _mm_unpackhi_epi16(two[0], two[1]), _mm_unpackhi_epi16(two[2], two[3])};
  const __m128i rows[4] = {_mm_unpacklo_epi32(four[0], four[1]), _mm_unpackhi_epi32(four[0], four[1]),
                           _mm_unpacklo_epi32(four[2], four[3]), _mm_unpackhi_epi32(four[2], four[3])};
  for (uint64_t pair = 0; pair < 4; ++pair) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 2 * pair * row), rows[pair]);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + (2 * pair + 1) * row), _mm_srli_si128(rows[pair], 8));
  }
}

}  // namespace

MdfStream::MdfStream(const MdfFile& file, uint64_t link, std::string_view kind, uint64_t last_block)
    : file_(file), kind_(kind), last_block_(last_block) {
  if (link == 0) return;
  next_ = link;
  bool is_whole = false;
  std::optional<MdfBlock> first = file.data_block(link, is_whole);
  if (first && first->id == "##HL") {
    next_ = first->link(0);
    if (next_ == 0) return;
    first = file.data_block(next_, is_whole);
  }
  if (!first || first->id != "##DL") return;
  next_ = 0;
  if (is_whole)
    open_list(first->at);
  else
    end_early();
}

// Marks the data as cut off. Returns false because nothing follows.
bool MdfStream::end_early() {
  cut_off_ = true;
  next_ = entry_ = 0;
  return false;
}

// Opens a list. If the file ends within the list, the listed blocks are before the list or missing.
bool MdfStream::open_list(uint64_t at) {
  bool is_whole = false;
  const std::optional<MdfBlock> list = file_.data_block(at, is_whole);
  if (!is_whole) return end_early();
  if (list->id != "##DL") file_.refuse(at, fmt::format("a block {}", list->id), "a block ##DL");
  list_ = *list;
  entry_ = 1;
  spend(list_);
  for (size_t entry = 1; entry < list_.link_count(); ++entry)
    if (list_.link(entry) < file_.bytes().size()) last_block_ = std::max(last_block_, list_.link(entry));
  return true;
}

void MdfStream::spend(const MdfBlock& block) {
  spent_ += block.bytes();
  if (spent_ > file_.bytes().size())
    file_.refuse(block.at, "a block of data that was read before",
                 "a block that is listed only once; the file is damaged");
}

uint64_t MdfStream::next_link() {
  if (next_ != 0) return std::exchange(next_, 0);
  while (entry_ != 0) {
    if (entry_ < list_.link_count()) {
      if (const uint64_t link = list_.link(entry_++); link != 0) return link;
      continue;
    }
    if (list_.link(0) == 0) {
      entry_ = 0;
      return 0;
    }
    if (!open_list(list_.link(0))) return 0;
  }
  return 0;
}

bool MdfStream::next_block() {
  const uint64_t link = next_link();
  if (link == 0) return false;
  if (cut_off_) return false;
  bool is_whole = false;
  const std::optional<MdfBlock> found = file_.data_block(link, is_whole);
  if (!found) return end_early();
  const MdfBlock& block = *found;
  if (!is_whole && link < last_block_)
    file_.refuse(link, fmt::format("a block {} that goes on after the end of the file", block.id),
                 fmt::format("one that ends before that at byte {}; the file is damaged", last_block_));
  block_ = link;
  spend(block);
  columns_ = 0;
  if (block.id == "##DZ")
    open_packed(block, is_whole);
  else if (block.id == "##" + kind_)
    open_plain(block);
  else
    file_.refuse(link, fmt::format("a block {}", block.id),
                 fmt::format("##{}, ##DZ or a list of them", kind_));
  if (!is_whole) end_early();
  return true;
}

void MdfStream::open_plain(const MdfBlock& block) {
  packed_ = false;
  raw_ = block.data;
  // The last block of a file that is not finalised extends to the end of the file.
  if ((file_.left_undone() & MdfFile::kLastLength) != 0 && kind_ == "DT" && raw_.empty())
    raw_ = file_.bytes().subspan(block.at + 24);
  unpacked_ = raw_.size();
  const auto begin = static_cast<uint64_t>(raw_.data() - file_.bytes().data());
  if (begin + raw_.size() > file_.last_zeros())
    zeros_from_ = static_cast<uint64_t>(given_) + std::max(begin, file_.last_zeros()) - begin;
}

void MdfStream::open_packed(const MdfBlock& block, bool is_whole) {
  packed_ = true;
  unpacked_ = 0;
  if (!is_whole && block.data.size() < kPacked) return;
  if (block.data.size() < kPacked) file_.refuse(block.at, "a short DZ block", "24 bytes before its data");
  const uint8_t* const at = block.data.data();
  const std::string_view original(reinterpret_cast<const char*>(at), 2);
  const uint8_t way = at[2];
  const auto columns = load<uint32_t>(at + 4);
  unpacked_ = load<uint64_t>(at + 8);
  const auto bytes = load<uint64_t>(at + 16);
  const uint64_t available = std::min<uint64_t>(bytes, block.data.size() - kPacked);
  if (original != kind_)
    file_.refuse(block.at, fmt::format("a packed block {}", original), fmt::format("one of {}", kind_));
  if (is_whole && bytes > available)
    file_.refuse(block.at, fmt::format("{} bytes of zlib data", bytes), "no more than the block has");
  if (way > 1) file_.refuse(block.at, fmt::format("a block packed by method {}", way), "0 or 1 (transposed)");
  // zlib packs at most about a thousand to one.
  if (unpacked_ / 1100 > bytes)
    file_.refuse(block.at, fmt::format("{} bytes of {} packed ones", unpacked_, bytes),
                 "fewer; the file is damaged");
  raw_ = block.data.subspan(kPacked, available);
  ended_ = false;
  inflater_.reset();
  if (!is_whole && way == 1 && columns > 1) {  // No row has all of its columns.
    unpacked_ = 0;
  } else if (way == 1 && columns > 1 && unpacked_ >= columns) {
    untranspose(columns);
  } else if (fits_budget(unpacked_) && inflate_whole()) {
    raw_ = held_;
    packed_ = false;
  }
}

// Inflates the whole block into held_ if its data are whole and valid. Otherwise an Inflater reports the
// error.
bool MdfStream::inflate_whole() {
  held_.resize(unpacked_);
  return whole_.run({reinterpret_cast<const char*>(raw_.data()), raw_.size()},
                    {reinterpret_cast<char*>(held_.data()), held_.size()});
}

size_t MdfStream::inflate(char* data, size_t bytes) {
  for (;;) {
    if (ended_ && cut_off_) return unpacked_ = 0;
    if (ended_) file_.refuse(block_, "zlib data that ends too soon", fmt::format("{} bytes more", unpacked_));
    const Inflater::Step step = inflater_.run({reinterpret_cast<const char*>(raw_.data()), raw_.size()},
                                              {data, std::min<uint64_t>(bytes, unpacked_)});
    if (step.damage != nullptr)
      file_.refuse(block_, fmt::format("damaged zlib data ({})", step.damage),
                   "a packed block; fetch the file again");
    raw_ = raw_.subspan(step.taken);
    ended_ = step.ended || (step.given == 0 && step.taken == 0);
    unpacked_ -= step.given;
    if (step.given > 0) return step.given;
  }
}

// Inflates the whole block, one column after the other, to memory or a file.
void MdfStream::untranspose(uint64_t columns) {
  columns_ = columns;
  total_ = unpacked_;
  rows_ = total_ / columns;
  at_ = 0;
  page_rows_ = 0;
  scratch_.reset();
  if (total_ <= kMaxHeld) {
    if (inflate_whole()) {
      unpacked_ = 0;
      return;
    }
    for (uint64_t filled = 0; unpacked_ > 0;)
      filled += inflate(reinterpret_cast<char*>(held_.data()) + filled, total_ - filled);
    return;
  }
  if (columns > kMaxFiledColumns)
    file_.refuse(block_,
                 fmt::format("a transposed block of {} columns and {}", columns,
                             format_bytes(static_cast<int64_t>(total_))),
                 fmt::format("at most {} of one over {}", kMaxFiledColumns, format_bytes(kMaxHeld)));
  constexpr uint64_t kPage = ScratchFile::kAlignment;
  scratch_ = ScratchFile::make(std::filesystem::temp_directory_path(),
                               static_cast<int64_t>((total_ + kPage - 1) / kPage * kPage));
  if (!scratch_)
    throw Failure(
        fmt::format("{}: byte {}: a transposed block of {} needs as much space on the disk of {}; set TMPDIR "
                    "to a folder that has it",
                    file_.mapped().path(), block_, format_bytes(static_cast<int64_t>(total_)),
                    std::filesystem::temp_directory_path().string()));
  const std::span<uint8_t> piece = aligned(held_, kMaxHeld / 4);
  for (uint64_t written = 0; written < total_;) {
    uint64_t filled = 0;
    while (filled < piece.size() && unpacked_ > 0)
      filled += inflate(reinterpret_cast<char*>(piece.data()) + filled, piece.size() - filled);
    std::ranges::fill(piece.subspan(filled), uint8_t{0});
    scratch_->write(static_cast<int64_t>(written),
                    std::as_bytes(piece.first((filled + kPage - 1) / kPage * kPage)));
    written += filled;
  }
}

// Gathers `rows` whole rows from at_ on, from columns in memory.
void MdfStream::gather_rows(char* data, uint64_t rows) {
  const uint64_t first = at_ / columns_;
  const uint64_t step = std::max<uint64_t>(1, kTile / columns_);
  for (uint64_t row = 0; row < rows; row += step) {
    const uint64_t end = std::min(rows, row + step);
    const uint64_t even = columns_ < 8 ? row : end - (end - row) % 8;
    for (uint64_t column = 0; row < even && column < columns_; column += 8) {
      // The last eight columns may overlap the previous eight.
      const uint64_t at = std::min(column, columns_ - 8);
      for (uint64_t i = row; i < even; i += 8)
        transpose_eight(held_.data() + at * rows_ + first + i, rows_, data + i * columns_ + at, columns_);
    }
    for (uint64_t column = 0; column < columns_; ++column) {
      const uint8_t* const from = held_.data() + column * rows_ + first;
      for (uint64_t i = even; i < end; ++i) data[i * columns_ + column] = static_cast<char>(from[i]);
    }
  }
  at_ += rows * columns_;
}

// Gathers bytes of rows from columns. Bytes after the last whole row are stored at the end, not transposed.
size_t MdfStream::gather(char* data, size_t bytes) {
  const uint64_t whole = rows_ * columns_;
  const uint64_t left = total_ - at_;
  const size_t count = std::min<uint64_t>(bytes, left);
  const auto byte_of = [&](uint64_t column, uint64_t row) { return held_[column * rows_ + row]; };
  size_t given = 0;
  while (given < count) {
    if (at_ >= whole) {
      if (!scratch_) {
        data[given++] = static_cast<char>(held_[at_++]);
      } else {
        file_.refuse(block_, "a large transposed block that does not consist of whole rows", "whole rows");
      }
      continue;
    }
    const uint64_t row = at_ / columns_;
    if (const uint64_t rows = (count - given) / columns_; !scratch_ && at_ % columns_ == 0 && rows > 0) {
      const uint64_t available = std::min(rows, rows_ - row);
      gather_rows(data + given, available);
      given += available * columns_;
      continue;
    }
    if (!scratch_) {
      uint64_t column = at_ % columns_;
      for (; column < columns_ && given < count; ++column, ++at_)
        data[given++] = static_cast<char>(byte_of(column, row));
      continue;
    }
    if (row < page_first_ || row >= page_first_ + page_rows_) {
      constexpr uint64_t kPage = ScratchFile::kAlignment;
      const std::span<uint8_t> pages = aligned(page_, 2 * kPage * columns_);
      page_first_ = row;
      page_rows_ = std::min<uint64_t>(kPage, rows_ - row);
      for (uint64_t column = 0; column < columns_; ++column) {  // Reads one or two pages of each column.
        const uint64_t from = column * rows_ + row;
        const uint64_t page = from / kPage * kPage;
        uint8_t* const to = pages.data() + 2 * kPage * column;
        const auto end = static_cast<uint64_t>(scratch_->bytes());
        scratch_->read(static_cast<int64_t>(page),
                       std::as_writable_bytes(std::span(to, std::min(2 * kPage, end - page))));
        std::memmove(to, to + (from - page), std::min(page_rows_, 2 * kPage - (from - page)));
      }
    }
    const uint8_t* const pages = aligned(page_, 2 * ScratchFile::kAlignment * columns_).data();
    data[given++] =
        static_cast<char>(pages[2 * ScratchFile::kAlignment * (at_ % columns_) + (row - page_first_)]);
    ++at_;
  }
  return given;
}

size_t MdfStream::read(char* data, size_t bytes) {
  for (;;) {
    size_t given = 0;
    if (columns_ != 0) {
      given = gather(data, bytes);
    } else if (unpacked_ > 0 && packed_) {
      given = inflate(data, bytes);
      if (given == 0) continue;
    } else if (unpacked_ > 0) {
      given = std::min<uint64_t>(bytes, unpacked_);
      std::memcpy(data, raw_.data(), given);
      raw_ = raw_.subspan(given);
      unpacked_ -= given;
    }
    given_ += static_cast<int64_t>(given);
    if (given > 0) return given;
    if (!next_block()) return 0;
  }
}

}  // namespace plimsoll
