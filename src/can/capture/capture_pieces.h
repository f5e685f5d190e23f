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

/// Some whole lines of one capture, or frames of one that is no text: the unit of parsing.
struct CapturePiece {
  Vector<char, Tag::ingest> buffer;
  size_t text_bytes = 0;
  size_t capture = 0;                           ///< index in the list of captures
  bool first = false;                           ///< holds the file's first line
  bool last = false;                            ///< the file ends with it, perhaps without a line break
  std::shared_ptr<const CaptureFormat> format;  ///< of the file; null where it is no text
  FrameBatch frames;                            ///< of a file that is no text
  LineNotes notes;                              ///< of these
  CaptureFacts facts;                           ///< of the file; once `last` is set
  std::optional<Truncation> truncation;         ///< where the file is cut off; of the last piece
  bool may_be_cut = false;                      ///< a text may end within its last line
  bool refuse_cut = false;                      ///< and that is an error
  int64_t begin = 0;                            ///< bytes of the file before these lines, unpacked
  int64_t unpacked_bytes = 0;                   ///< that these lines or frames took, after decompression
  int64_t bytes_read = 0;                       ///< of the file itself, up to here
  std::string hash;                             ///< of the file itself, in its last piece

  std::string_view text() const { return {buffer.data(), text_bytes}; }
};

/// Reads captures one after the other in pieces of whole lines of at most 1 MiB, or of 8,192 frames. Not
/// thread-safe.
class CapturePieces {
 public:
  CapturePieces(const std::vector<CaptureFile>& captures, const FormatOptions& options);

  /// The next piece, into the memory of `piece`; false at the end. Every capture has at least one piece,
  /// perhaps empty. Errors: InputError (damaged or unknown file, a line longer than a piece), UsageError
  /// (options).
  bool next(CapturePiece& piece);

 private:
  void read_lines(CapturePiece& piece, const std::string& file);
  void read_frames(CapturePiece& piece);

  const std::vector<CaptureFile>& captures_;
  const FormatOptions& options_;
  size_t next_capture_ = 0;
  // Of the capture before next_capture_; none between captures.
  std::unique_ptr<InputStream> stream_;  // of a text
  std::unique_ptr<FrameReader> reader_;
  int64_t unpacked_bytes_ = 0;
  std::shared_ptr<const CaptureFormat> format_;
  Vector<char, Tag::ingest> carried_;  // the beginning of a line whose end is not read yet
};

/// What parsing a piece gave, and where it stopped if it did.
struct ParsedPiece {
  FrameBatch frames;
  LineNotes notes;
  int64_t lines = 0;
  std::map<std::string, int64_t> skipped;  ///< lines left out, by what was expected
  bool skipped_too_long = false;           ///< one of them was Wrong::is_too_long
  std::optional<Truncation> truncation;    ///< where the file is cut off

  struct Error {
    int64_t line = 0;  ///< within the piece, from 1
    size_t column = 0;
    std::string found;
    std::string expected;
    bool cut_off = false;      ///< the file ends inside the line
    bool is_too_long = false;  ///< Wrong::is_too_long
  };
  std::optional<Error>
      error;  ///< the first bad line, when lines may not be skipped; nothing after it was parsed
};

/// Parses a piece, or takes its frames; with `skip`, bad lines are counted and left out. `parsed` is emptied
/// first and keeps its memory.
void parse_piece(CapturePiece& piece, bool skip, ParsedPiece& parsed);

/// Throws InputError if the piece has a bad line. `lines`: of the capture before it.
void require_sound(const CaptureFile& capture, int64_t lines, const ParsedPiece& parsed);
/// Adds the time of the capture's pieces before, `elapsed_ns`, to times that are differences, and this
/// piece's time to it. Errors: InputError where the sum is over 9000000000 s.
void add_elapsed(const std::string& file, const CapturePiece& piece, ParsedPiece& parsed,
                 int64_t& elapsed_ns);
/// Labels all frames 0, as --benign says. Errors: InputError where one is labelled an attack.
void label_benign(const CaptureFile& capture, FrameBatch& frames);
/// Reads and parses captures on up to `threads` threads, fewer where the budget has no room for so many
/// pieces, and gives what was found to `take`, in the order of the captures. `skip`: as parse_piece().
/// Errors: those of CapturePieces and `take`.
void for_each_piece(const std::vector<CaptureFile>& captures, const FormatOptions& options, int threads,
                    bool skip, const std::function<void(const CapturePiece&, ParsedPiece&)>& take);

}  // namespace plimsoll
