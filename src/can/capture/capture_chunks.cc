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

constexpr size_t kChunkBytes = 1 << 20;
constexpr size_t kFirstBytes = 64 << 10;  // First bytes that show the format and its header.
constexpr size_t kPieceFrames = 8192;

// Number of chunks that may be processed at once. With a small budget, parsing is slower but does not fail.
int threads_for_chunks(int threads) {
  // A chunk and its frames need about 2.5 MiB. The rest of the budget is left for a zstd decoder (about 16
  // MiB for files up to that size) and the writers.
  constexpr int64_t kPieceMemory = 5 * kMiB / 2;
  constexpr int64_t kOther = 18 * kMiB;
  const Ledger& ledger = Ledger::process();
  return static_cast<int>(
      std::clamp<int64_t>((ledger.cap() - ledger.held() - kOther) / kPieceMemory, 1, threads));
}

}  // namespace

CaptureChunks::CaptureChunks(const std::vector<CaptureFile>& captures, const FormatOptions& options)
    : captures_(captures), options_(options) {}

bool CaptureChunks::next(CaptureChunk& chunk) {
  if (!stream_ && !reader_ && next_capture_ == captures_.size()) return false;
  chunk.first = !stream_ && !reader_;
  if (chunk.first) {
    const std::filesystem::path& path = captures_[next_capture_++].path;
    stream_ = InputStream::open(path, options_.refuse_truncated ? AtCut::fail : AtCut::stop);
    reader_ = FrameReader::open(path, options_, stream_);
    unpacked_bytes_ = 0;
  }
  chunk.capture = next_capture_ - 1;
  chunk.truncation.reset();
  if (reader_)
    read_frames(chunk);
  else
    read_lines(chunk, captures_[chunk.capture].path.string());
  return true;
}

void CaptureChunks::read_frames(CaptureChunk& chunk) {
  chunk.format.reset();
  chunk.text_bytes = 0;
  chunk.notes = {};
  chunk.frames.width = options_.payload;
  chunk.frames.clear();
  chunk.frames.channels.clear();
  chunk.frames.reserve(kPieceFrames);
  chunk.last = !reader_->read(kPieceFrames, chunk.frames, chunk.notes);
  chunk.unpacked_bytes =
      reader_->unpacked_bytes() - std::exchange(unpacked_bytes_, reader_->unpacked_bytes());
  chunk.bytes_read = reader_->bytes_read();
  if (!chunk.last) return;
  chunk.facts = reader_->facts();
  chunk.hash = reader_->source_hash();
  chunk.truncation = reader_->truncation();
  reader_.reset();
}

void CaptureChunks::read_lines(CaptureChunk& chunk, const std::string& file) {
  chunk.buffer.resize(kChunkBytes);
  std::copy(carried_.begin(), carried_.end(), chunk.buffer.begin());
  const size_t free_bytes = kChunkBytes - carried_.size();
  const size_t got = stream_->read(chunk.buffer.data() + carried_.size(), free_bytes);
  const std::string_view held(chunk.buffer.data(), carried_.size() + got);
  chunk.last = got < free_bytes;
  const size_t newline = held.rfind('\n');
  if (!chunk.last && newline == std::string_view::npos)
    throw InputError(
        fmt::format("{}: a line is longer than {} bytes: this is not a CAN capture", file, kChunkBytes));
  chunk.text_bytes = chunk.last ? held.size() : newline + 1;
  const std::string_view rest = held.substr(chunk.text_bytes);
  carried_.assign(rest.begin(), rest.end());

  if (chunk.first) format_ = CaptureFormat::make(options_, chunk.text().substr(0, kFirstBytes), file);
  chunk.format = format_;
  chunk.unpacked_bytes = static_cast<int64_t>(chunk.text_bytes);
  chunk.begin = std::exchange(unpacked_bytes_, unpacked_bytes_ + chunk.unpacked_bytes);
  chunk.bytes_read = stream_->bytes_read();
  chunk.may_be_cut = true;
  chunk.refuse_cut = options_.refuse_truncated;
  if (!chunk.last) return;
  if (stream_->is_cut_off()) chunk.truncation = Truncation{unpacked_bytes_, 0};
  chunk.facts = format_->facts();
  chunk.hash = stream_->source_hash();
  stream_.reset();
}

namespace {

// Leaves out a line within which the file ends.
void cut_line_off(const CaptureChunk& chunk, std::string_view line, ParsedChunk& parsed) {
  if (chunk.refuse_cut) {
    parsed.error = ParsedChunk::Error{parsed.lines, 1, shown(line), "a whole line", true};
    return;
  }
  const auto bytes = static_cast<int64_t>(line.size());
  parsed.truncation = Truncation{chunk.begin + (line.data() - chunk.text().data()), bytes};
  parsed.notes.cut_off_bytes += bytes;
}

// Whether the file ends within this line. After a power failure, a file system may have zeros in place of the
// end of a file.
bool is_cut_line(const CaptureChunk& chunk, std::string_view line) {
  return chunk.truncation.has_value() || line.ends_with('\0');
}

// Whether a last line without an end may be the start of a frame: it ends in half a byte, or it is an event
// and starts with a digit.
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
bool handle_bad_line(const CaptureChunk& chunk, bool skip, std::string_view line, std::string_view open,
                     const LineError& wrong, ParsedChunk& parsed) {
  const bool is_cut = !open.empty() && chunk.may_be_cut;
  if (is_cut && !chunk.refuse_cut) {
    cut_line_off(chunk, open, parsed);
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

void parse_chunk(CaptureChunk& chunk, bool skip, ParsedChunk& parsed) {
  constexpr size_t kUsualLine = 32;  // Approximate bytes of a usual line.
  clear(parsed);
  parsed.truncation = chunk.truncation;
  if (!chunk.format) {
    std::swap(parsed.frames, chunk.frames);
    parsed.notes = chunk.notes;
    if (chunk.truncation) parsed.notes.cut_off_bytes += chunk.truncation->left_out;
    return;
  }
  parsed.frames.reserve(chunk.text_bytes / kUsualLine);
  for (std::string_view text = chunk.text(); !text.empty();) {
    text.remove_prefix(chunk.format->parse_usual(text, parsed.frames, parsed.lines));
    const auto* const end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
    std::string_view line =
        text.substr(0, end == nullptr ? text.size() : static_cast<size_t>(end - text.data()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    // A last line without an end may be incomplete.
    const std::string_view open = chunk.last && end == nullptr ? line : std::string_view();
    ++parsed.lines;
    if (!open.empty() && chunk.may_be_cut && is_cut_line(chunk, open)) {
      cut_line_off(chunk, open, parsed);
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
        chunk.format->parse(line, chunk.first && parsed.lines == parsed.notes.blank_lines + 1, parsed.frames,
                            parsed.notes);
      if (open.empty() || !chunk.may_be_cut || !may_begin_frame(open, before, parsed.notes)) continue;
      parsed.notes = before;
      parsed.frames.truncate(frames);
      cut_line_off(chunk, open, parsed);
    } catch (const LineError& wrong) {
      parsed.frames.truncate(frames);
      if (!handle_bad_line(chunk, skip, line, open, wrong, parsed)) return;
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

void add_elapsed(const std::string& file, const CaptureChunk& chunk, ParsedChunk& parsed,
                 int64_t& elapsed_ns) {
  if (!chunk.format || !chunk.format->has_differences()) return;
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

void for_each_chunk(const std::vector<CaptureFile>& captures, const FormatOptions& options, int threads,
                    bool skip, const std::function<void(const CaptureChunk&, ParsedChunk&)>& take) {
  CaptureChunks chunks(captures, options);
  Workers workers(threads_for_chunks(threads));
  struct Slot {
    CaptureChunk chunk;
    ParsedChunk parsed;
  };
  std::vector<Slot> slots(static_cast<size_t>(workers.threads()));
  for (Slot& slot : slots) slot.parsed.frames.width = options.payload;
  workers.run_stream(
      [&](int64_t, int worker) { return chunks.next(slots[static_cast<size_t>(worker)].chunk); },
      [&](int64_t, Turn& turn) {
        auto& [chunk, parsed] = slots[static_cast<size_t>(turn.worker())];
        parsed.frames.channels.clear();  // The channels were those of this chunk only.
        parse_chunk(chunk, skip, parsed);
        turn.wait();
        take(chunk, parsed);
      });
}

}  // namespace plimsoll
