#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "can/frames/frame_batch.h"

namespace plimsoll {

/// What a line is refused for: where in the line, and what was expected there. Becomes an InputError, or a
/// count under
/// --on-error skip, once file and line number are at hand.
struct Wrong {
  const char* at;
  std::string expected;
  bool is_too_long = false;  ///< a payload for which the frames have no space
};

/// A payload longer than the 8 bytes that FormatOptions::payload gives a frame.
class PayloadTooLong : public InputError {
 public:
  using InputError::InputError;
};

/// What was found in a capture and handled on purpose (docs/can-formats.md says how). Counts of lines.
struct LineNotes {
  int64_t odd_payload = 0;      ///< an odd number of hex digits: the last half byte is dropped
  int64_t trimmed_payload = 0;  ///< blanks or tabs around the payload
  int64_t empty_payload = 0;    ///< no payload: length 0
  int64_t time_runs_back = 0;   ///< an earlier time than the line before; the file's order is kept
  int64_t rounded_time = 0;     ///< more than 9 digits after the point: rounded to the nanosecond
  int64_t float_id = 0;         ///< an ID written as a number with ".0" after it: read without
  int64_t blank_lines = 0;      ///< skipped
  int64_t crlf_lines = 0;       ///< ended by CR LF
  int64_t suffixes = 0;         ///< words after a candump frame that are no label: left out
  int64_t extra_bytes = 0;      ///< lines with more bytes than the frame's length: left out
  int64_t unmarked_id = 0;      ///< an ID over 7FF that is not marked as extended: read as extended
  int64_t unknown_date = 0;     ///< a date of the header that is not understood: times start in 1970
  int64_t added_time = 0;       ///< a time since the line before: added up
  int64_t shifted_time = 0;     ///< a time of a file that has negative ones: counted from the earliest
  int64_t other_channels = 0;   ///< frames of another channel than --channel: left out
  int64_t other_lines = 0;      ///< headers, comments and events that are no frames: left out
  int64_t other_records = 0;    ///< the same of captures that are no text: objects, packets, blocks, records
  int64_t stray_bytes = 0;      ///< bytes between the records of a capture that is no text: left out
  int64_t no_time = 0;          ///< frames without a time of their own: they have that of the frame before
  int64_t cut_off_bytes = 0;    ///< bytes of what a capture ends within: left out

  /// Nanoseconds that went by in these lines, where times are differences. Not a count.
  int64_t elapsed_ns = 0;

  void add(const LineNotes& other);
  /// Only those that occurred: {"odd_payload": 1}
  Json to_json() const;
};

/// What is known of the frames of a capture.
struct CaptureFacts {
  std::string name;  ///< of the format
  bool has_time = true;
  bool has_payload = true;
  bool labelled = true;
};

/// FormatOptions::payload of who leaves it to the captures: ingest_can() takes 64 where a frame needs them, a
/// stream always does.
inline constexpr int64_t kChosenPayload = 0;
inline constexpr int64_t kFdPayloadBytes = 64;  ///< of a frame of CAN FD

/// How the user describes captures; what is not given is detected.
struct FormatOptions {
  std::string name = "auto";  ///< a word of capture_formats(), or table
  int64_t payload = 8;        ///< bytes of payload a frame has room for: 8 or 64 (CAN FD), or
                              ///< kChosenPayload
  std::string channel = {};   ///< take this channel alone, where the format tells channels; empty: all
  std::map<std::string, std::string> channel_names =
      {};                         ///< other names of channels; those of one name are one
  bool merge_channels = false;    ///< all channels of a capture become one recording
  bool benign = false;            ///< every frame is labelled 0; one that is labelled an attack is an error
  bool refuse_truncated = false;  ///< a capture that is cut off is an error; else it is read up to there
  std::vector<std::string> attack_labels =
      {};  ///< label texts that mean an attack; empty: 1, true, attack, T

  // table
  std::vector<std::string> columns =
      {};                       ///< time, id, channel, extended, length, payload, byte*8, bytes, ...
  std::string separator = ",";  ///< one character, "tab", or "space" for runs of blanks
  std::string quote = {};       ///< one character around fields that hold separators
  bool decimal_id = false;
  bool decimal_bytes = false;
  /// s | ms | us | timeofday | none | delta; empty: s, or what the times of candump look like
  std::string time = {};
  bool length_in_bits = false;

  /// Gets what is to be said about a capture that is read all the same. By default it is a line of stderr.
  std::function<void(const std::string&)> warn = warn_on_stderr;
  static void warn_on_stderr(const std::string& text);

  Json to_json() const;  ///< for the provenance
  /// The name of a channel as manifests and alarms tell it.
  std::string name_of_channel(const std::string& channel_of_capture) const;
};

/// The words of FormatOptions::name but for `table`: auto first.
const std::vector<std::string>& capture_formats();

/// How the lines of one kind of capture become frames. Immutable: any number of threads may parse with it.
class CaptureFormat {
 public:
  virtual ~CaptureFormat() = default;

  /// Appends the frame of a line. False when the line holds none on purpose (a header, which `first` allows;
  /// a frame of another channel). Throws Wrong; `out` may then hold part of the frame. `line` has no line
  /// end.
  virtual bool parse(std::string_view line, bool first, FrameBatch& out, LineNotes& notes) const = 0;

  /// Appends the frames of the leading lines of `text` that have the form most lines have, if the format
  /// knows a faster way for it; counts them in `lines` and returns their bytes. The next line is parse()'s.
  virtual size_t parse_usual(std::string_view /*text*/, FrameBatch& /*out*/, int64_t& /*lines*/) const {
    return 0;
  }

  virtual std::string name() const = 0;
  virtual bool has_time() const { return true; }
  /// Whether each time counts from the line before. Times then count from the start of the piece, and
  /// LineNotes::elapsed_ns says how long the piece is.
  virtual bool has_differences() const { return false; }
  virtual bool has_payload() const { return true; }
  virtual bool labelled() const { return true; }
  /// What is to be said about the file, as "LINE: TEXT" or " TEXT".
  virtual std::vector<std::string> warnings() const { return {}; }

  CaptureFacts facts() const { return {name(), has_time(), has_payload(), labelled()}; }

  /// The format of a file by its first lines; options.warn gets its warnings. Errors: UsageError (options),
  /// InputError (not recognised; `file` is for its text, which names --format table).
  static std::unique_ptr<CaptureFormat> make(const FormatOptions& options, std::string_view first_lines,
                                             const std::string& file);
};

}  // namespace plimsoll
