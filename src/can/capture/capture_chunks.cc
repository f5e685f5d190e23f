#include "can/capture/capture_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/shown.h"
#include "base/units.h"
#include "base/workers.h"
#include "can/capture/fields.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr size_t kFirstBytes = 64 << 10;  // First bytes that show the format and its header.
constexpr size_t kPieceFrames = 8192;

// Number of pieces that may be processed at once. A small budget makes parsing slower, but it does not fail.
int threads_for_pieces(int threads) {
  // A piece and its frames need about 2.5 MiB. The rest of the budget is left for a zstd decoder (about 16
  // MiB for files up to that size) and the writers.
  constexpr int64_t kPieceMemory = 5 * kMiB / 2;
  constexpr int64_t kOther = 18 * kMiB;
  const Ledger& ledger = Ledger::process();
  return static_cast<int>(
      std::clamp<int64_t>((ledger.cap() - ledger.held() - kOther) / kPieceMemory, 1, threads));
}

}  // namespace

CapturePieces::CapturePieces(const std::vector<CaptureFile>& captures, const FormatOptions& options)
    : captures_(captures), options_(options) {}

bool CapturePieces::next(CaptureChunk& piece) {
  if (!stream_ && !reader_ && next_capture_ == captures_.size()) return false;
  piece.first = !stream_ && !reader_;
  if (piece.first) {
    const std::filesystem::path& path = captures_[next_capture_++].path;
    stream_ = InputStream::open(path, options_.refuse_truncated ? AtCut::fail : AtCut::stop);
    reader_ = FrameReader::open(path, options_, stream_);
    unpacked_bytes_ = 0;
  }
  piece.capture = next_capture_ - 1;
  piece.truncation.reset();
  if (reader_)
    read_frames(piece);
  else
    read_lines(piece, captures_[piece.capture].path.string());
  return true;
}

void CapturePieces::read_frames(CaptureChunk& piece) {
  piece.format.reset();
  piece.text_bytes = 0;
  piece.notes = {};
  piece.frames.width = options_.payload;
  piece.frames.clear();
  piece.frames.channels.clear();
  piece.frames.reserve(kPieceFrames);
  piece.last = !reader_->read(kPieceFrames, piece.frames, piece.notes);
  piece.unpacked_bytes =
      reader_->unpacked_bytes() - std::exchange(unpacked_bytes_, reader_->unpacked_bytes());
  piece.bytes_read = reader_->bytes_read();
  if (!piece.last) return;
  piece.facts = reader_->facts();
  piece.hash = reader_->source_hash();
  piece.truncation = reader_->truncation();
  reader_.reset();
}

void CapturePieces::read_lines(CaptureChunk& piece, const std::string& file) {
  piece.buffer.resize(kPieceBytes);
  std::copy(carried_.begin(), carried_.end(), piece.buffer.begin());
  const size_t free_bytes = kPieceBytes - carried_.size();
  const size_t got = stream_->read(piece.buffer.data() + carried_.size(), free_bytes);
  const std::string_view held(piece.buffer.data(), carried_.size() + got);
  piece.last = got < free_bytes;
  const size_t newline = held.rfind('\n');
  if (!piece.last && newline == std::string_view::npos)
    throw InputError(
        fmt::format("{}: a line is longer than {} bytes: this is not a CAN capture", file, kPieceBytes));
  piece.text_bytes = piece.last ? held.size() : newline + 1;
  const std::string_view rest = held.substr(piece.text_bytes);
  carried_.assign(rest.begin(), rest.end());

  if (piece.first) format_ = CaptureFormat::make(options_, piece.text().substr(0, kFirstBytes), file);
  piece.format = format_;
  piece.unpacked_bytes = static_cast<int64_t>(piece.text_bytes);
  piece.begin = std::exchange(unpacked_bytes_, unpacked_bytes_ + piece.unpacked_bytes);
  piece.bytes_read = stream_->bytes_read();
  piece.may_be_cut = true;
  piece.refuse_cut = options_.refuse_truncated;
  if (!piece.last) return;
  if (stream_->is_cut_off()) piece.truncation = Truncation{unpacked_bytes_, 0};
  piece.facts = format_->facts();
  piece.hash = stream_->source_hash();
  stream_.reset();
}

namespace {

// Leaves out a line within which the file ends.
void cut_line_off(const CaptureChunk& piece, std::string_view line, ParsedChunk& parsed) {
  if (piece.refuse_cut) {
    parsed.error = ParsedChunk::Error{parsed.lines, 1, shown(line), "a whole line", true};
    return;
  }
  const auto bytes = static_cast<int64_t>(line.size());
  parsed.truncation = Truncation{piece.begin + (line.data() - piece.text().data()), bytes};
  parsed.notes.cut_off_bytes += bytes;
}

// Whether the file ends within this line. After a power failure, a file system may have zeros in place of the
// end of a file.
bool is_cut_line(const CaptureChunk& piece, std::string_view line) {
  return piece.truncation.has_value() || line.ends_with('\0');
}

// Whether a last line without an end may be the beginning of a frame: it ends in half a byte, or it is an
// event and starts with a digit.
bool may_begin_frame(std::string_view line, const LineNotes& before, const LineNotes& after) {
  const std::string_view text = trim(line);
  const bool is_event =
      after.other_lines > before.other_lines && !text.empty() && text[0] >= '0' && text[0] <= '9';
  return is_event || after.odd_payload > before.odd_payload;
}

void clear(ParsedChunk& parsed) {
  parsed.frames.clear();
  parsed.notes = {};
  parsed.lines = 0;
  parsed.skipped.clear();
  parsed.skipped_too_long = false;
  parsed.error.reset();
}

// Handles a bad line. `open` is the line if it has no end, otherwise empty. Returns whether parsing continues
// with the next line.
bool handle_bad_line(const CaptureChunk& piece, bool skip, std::string_view line, std::string_view open,
                     const LineError& wrong, ParsedChunk& parsed) {
  const bool is_cut = !open.empty() && piece.may_be_cut;
  if (is_cut && !piece.refuse_cut) {
    cut_line_off(piece, open, parsed);
    return false;
  }
  if (skip && !is_cut) {
    ++parsed.skipped[wrong.expected];
    parsed.skipped_too_long |= wrong.is_too_long;
    return true;
  }
  const auto column = static_cast<size_t>(std::max<std::ptrdiff_t>(wrong.at - line.data(), 0));
  parsed.error =
      ParsedChunk::Error{parsed.lines,   column + 1,    shown(line.substr(std::min(column, line.size()))),
                         wrong.expected, !open.empty(), wrong.is_too_long};
  return false;
}

}  // namespace

void parse_piece(CaptureChunk& piece, bool skip, ParsedChunk& parsed) {
  constexpr size_t kUsualLine = 32;  // Approximate bytes of a usual line.
  clear(parsed);
  parsed.truncation = piece.truncation;
  if (!piece.format) {
    std::swap(parsed.frames, piece.frames);
    parsed.notes = piece.notes;
    if (piece.truncation) parsed.notes.cut_off_bytes += piece.truncation->left_out;
    return;
  }
  parsed.frames.reserve(piece.text_bytes / kUsualLine);
  for (std::string_view text = piece.text(); !text.empty();) {
    text.remove_prefix(piece.format->parse_usual(text, parsed.frames, parsed.lines));
    const auto* const end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
    std::string_view line =
        text.substr(0, end == nullptr ? text.size() : static_cast<size_t>(end - text.data()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    // A last line without an end may be incomplete.
    const std::string_view open = piece.last && end == nullptr ? line : std::string_view();
    ++parsed.lines;
    if (!open.empty() && piece.may_be_cut && is_cut_line(piece, open)) {
      cut_line_off(piece, open, parsed);
      return;
    }
    if (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
      ++parsed.notes.crlf_lines;
    }
    const size_t frames = parsed.frames.frames();
    const LineNotes before = open.empty() ? LineNotes() : parsed.notes;
    try {
      if (trim(line).empty())
        ++parsed.notes.blank_lines;
      else
        piece.format->parse(line, piece.first && parsed.lines == 1, parsed.frames, parsed.notes);
      if (open.empty() || !piece.may_be_cut || !may_begin_frame(open, before, parsed.notes)) continue;
      parsed.notes = before;
      parsed.frames.truncate(frames);
      cut_line_off(piece, open, parsed);
    } catch (const LineError& wrong) {
      parsed.frames.truncate(frames);
      if (!handle_bad_line(piece, skip, line, open, wrong, parsed)) return;
    }
  }
}

void require_sound(const CaptureFile& capture, int64_t lines, const ParsedChunk& parsed) {
  if (!parsed.error) return;
  const ParsedChunk::Error& error = *parsed.error;
  const std::string text = fmt::format(
      "{}:{}:{}: found '{}', expected {}{}", capture.path.string(), lines + error.line, error.column,
      error.found, error.expected,
      error.cut_off ? "; the file ends inside this line: fetch it again, or remove the line" : "");
  if (error.is_too_long) throw PayloadTooLong(text);
  throw InputError(text);
}

void add_elapsed(const std::string& file, const CaptureChunk& piece, ParsedChunk& parsed,
                 int64_t& elapsed_ns) {
  if (!piece.format || !piece.format->has_differences()) return;
  if (parsed.notes.elapsed_ns > kMaxTime - elapsed_ns)
    throw InputError(file +
                     ": its times are differences and add up to more than 9000000000 s; --time s reads them "
                     "as they are");
  for (int64_t& time_ns : parsed.frames.time_ns) time_ns += elapsed_ns;
  elapsed_ns += parsed.notes.elapsed_ns;
}

void label_benign(const CaptureFile& capture, FrameBatch& frames) {
  if (std::ranges::find(frames.label, uint8_t{1}) != frames.label.end())
    throw InputError(capture.path.string() +
                     ": holds frames labelled as attacks; leave --benign out, or name other captures");
  std::ranges::fill(frames.label, uint8_t{0});
}

void for_each_piece(const std::vector<CaptureFile>& captures, const FormatOptions& options, int threads,
                    bool skip, const std::function<void(const CaptureChunk&, ParsedChunk&)>& take) {
  CapturePieces pieces(captures, options);
  Workers workers(threads_for_pieces(threads));
  struct Slot {
    CaptureChunk piece;
    ParsedChunk parsed;
  };
  std::vector<Slot> slots(static_cast<size_t>(workers.threads()));
  for (Slot& slot : slots) slot.parsed.frames.width = options.payload;
  workers.run_stream(
      [&](int64_t, int worker) { return pieces.next(slots[static_cast<size_t>(worker)].piece); },
      [&](int64_t, Turn& turn) {
        auto& [piece, parsed] = slots[static_cast<size_t>(turn.worker())];
        parsed.frames.channels.clear();  // The channels were those of this piece only.
        parse_piece(piece, skip, parsed);
        turn.wait();
        take(piece, parsed);
      });
}

}  // namespace plimsoll
