#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "can/capture/capture_format.h"
#include "can/capture/frame_reader.h"
#include "can/capture/sources.h"

namespace plimsoll {

/// Whole lines of one text capture, or frames of a binary one: the unit of parsing. `begin`, `may_be_cut` and
/// `refuse_cut` are set for texts only.
struct CaptureChunk {
  Vector<char, Tag::ingest> buffer;
  size_t text_bytes = 0;
  size_t capture = 0;  ///< Index in the list of captures.
  bool first = false;  ///< Holds the file's first line.
  bool last = false;   ///< Last chunk of the file. A text may end in it without a line break.
  std::shared_ptr<const CaptureFormat> format;  ///< Format of the file; null if it is binary.
  FrameBatch frames;                            ///< Frames of a binary file.
  LineNotes notes;                              ///< Notes on these frames.
  CaptureFacts facts;                           ///< Facts about the file; set if `last` is true.
  std::optional<Truncation> truncation;  ///< Place at which the file is cut off; set in the last chunk only.
  bool may_be_cut = false;               ///< The text may end within its last line.
  bool refuse_cut = false;               ///< A text that ends within its last line is an error.
  int64_t begin = 0;                     ///< Unpacked bytes of the file before these lines.
  int64_t unpacked_bytes = 0;            ///< Bytes of these lines or frames, after decompression.
  int64_t bytes_read = 0;                ///< Bytes of the file itself, before decompression, read so far.
  std::string hash;                      ///< Hash of the file itself; set in its last chunk.

  std::string_view text() const { return {buffer.data(), text_bytes}; }
};

/// Reads captures one after the other in chunks (CaptureChunk): whole lines of at most 1 MiB together, or at
/// most 8,192 frames. Not thread-safe.
class CaptureChunks {
 public:
  /// Both arguments must outlive this object.
  CaptureChunks(const std::vector<CaptureFile>& captures, const FormatOptions& options);

  /// Reads the next chunk into the memory of `chunk`. Returns false after the last capture. Every capture has
  /// at least one chunk, which may be empty. Errors: those of InputStream, FrameReader and
  /// CaptureFormat::make(), and InputError for a line longer than 1 MiB. Do not use the object after an
  /// error.
  bool next(CaptureChunk& chunk);

 private:
  void read_lines(CaptureChunk& chunk, const std::string& file);
  void read_frames(CaptureChunk& chunk);

  const std::vector<CaptureFile>& captures_;
  const FormatOptions& options_;
  size_t next_capture_ = 0;
  // State of the capture before next_capture_; empty between captures.
  std::unique_ptr<InputStream> stream_;  // Stream of a text.
  std::unique_ptr<FrameReader> reader_;
  int64_t unpacked_bytes_ = 0;
  std::shared_ptr<const CaptureFormat> format_;
  Vector<char, Tag::ingest> carried_;  // Start of a line whose end has not been read yet.
};

/// The result of parsing a chunk, and the error at which it stopped, if any.
struct ParsedChunk {
  FrameBatch frames;
  LineNotes notes;
  int64_t lines = 0;
  std::map<std::string, int64_t> skipped;  ///< Number of skipped lines for each text of LineError::expected.
  bool skipped_too_long = false;           ///< One of the skipped lines was LineError::is_too_long.
  std::optional<Truncation> truncation;    ///< Place at which the file is cut off.

  struct Error {
    int64_t line = 0;  ///< Line within the chunk, from 1.
    size_t column = 0;
    std::string found;
    std::string expected;
    bool cut_off = false;      ///< The file ends inside the line.
    bool is_too_long = false;  ///< Same as LineError::is_too_long.
  };
  /// The line at which parsing stopped: the first bad line if lines may not be skipped, or an incomplete last
  /// line with CaptureChunk::refuse_cut. Nothing after it was parsed.
  std::optional<Error> error;
};

/// Parses a text chunk, or swaps out the frames of a binary one. With `skip`, bad lines are counted and left
/// out; otherwise parsing stops at the first one (ParsedChunk::error). `parsed` is cleared first and keeps
/// its memory, except frames.channels, which the caller clears. The caller also sets frames.width for texts.
void parse_chunk(CaptureChunk& chunk, bool skip, ParsedChunk& parsed);

/// Throws InputError if parsed.error is set, or PayloadTooLong if that line has too long a payload. `lines`
/// is the number of lines of the capture before the chunk.
void require_sound(const CaptureFile& capture, int64_t lines, const ParsedChunk& parsed);
/// If times are differences, adds `elapsed_ns`, the duration of the capture's earlier chunks, to the frames'
/// times, and then adds this chunk's duration to `elapsed_ns`. Otherwise does nothing. Errors: InputError if
/// the sum exceeds 9000000000 s.
void add_elapsed(const std::string& file, const CaptureChunk& chunk, ParsedChunk& parsed,
                 int64_t& elapsed_ns);
/// Labels all frames 0, for --benign. Errors: InputError if a frame is labelled as an attack; the labels are
/// then unchanged.
void label_benign(const CaptureFile& capture, FrameBatch& frames);
/// Reads and parses captures on up to `threads` threads, or fewer if the budget does not allow that many
/// chunks, and passes the results to `take` in the order of the captures. `take` is called by one of these
/// threads at a time; what it gets is valid only during the call. `take` must check ParsedChunk::error.
/// `skip` is as for parse_chunk(). Errors: those of CaptureChunks and `take`, and ThreadRefused.
void for_each_chunk(const std::vector<CaptureFile>& captures, const FormatOptions& options, int threads,
                    bool skip, const std::function<void(const CaptureChunk&, ParsedChunk&)>& take);

}  // namespace plimsoll
