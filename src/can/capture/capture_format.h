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
#include "base/words.h"
#include "can/frames/frame_batch.h"

namespace plimsoll {

/// The error of a refused line: the place in the line and what was expected there. It becomes an InputError,
/// or a count under --on-error skip, once file and line number are known.
struct LineError {
  const char* at;  ///< Place in the line; null only between take_field() and parse_row().
  std::string expected;
  bool is_too_long = false;  ///< The payload is too long for the frames.
};

/// Thrown for a payload longer than FormatOptions::payload if that is 8 bytes.
class PayloadTooLong : public InputError {
 public:
  using InputError::InputError;
};

/// Counts of irregularities that were handled on purpose (docs/can-formats.md says how). They count lines or
/// frames unless they say otherwise.
struct LineNotes {
  int64_t odd_payload = 0;      ///< Odd number of hex digits: the last half byte is dropped.
  int64_t trimmed_payload = 0;  ///< Blanks or tabs around the payload.
  int64_t empty_payload = 0;    ///< No payload: the length is 0.
  int64_t time_runs_back = 0;   ///< Time before that of the channel's previous frame: the order is kept.
  int64_t rounded_time = 0;     ///< Time with more digits than nanoseconds have, or an exponent: rounded.
  int64_t float_id = 0;         ///< ID written as a number with ".0" after it: read without the ".0".
  int64_t blank_lines = 0;      ///< Blank lines: skipped.
  int64_t crlf_lines = 0;       ///< Lines ended by CR LF.
  int64_t suffixes = 0;         ///< Text after a frame of candump or python-can, not a label: left out.
  int64_t extra_bytes = 0;      ///< More bytes than the frame's length: left out.
  int64_t unmarked_id = 0;      ///< ID over 7FF that is not marked as extended: read as extended.
  int64_t unknown_date = 0;     ///< Date in the header that cannot be parsed: times start in 1970.
  int64_t added_time = 0;       ///< Time that counts from the line before: such times are added up.
  int64_t shifted_time = 0;     ///< Time in a file with negative times: counted from the earliest time.
  int64_t other_channels = 0;   ///< Frames of another channel than --channel: left out.
  int64_t other_lines = 0;      ///< Headers, comments and events that are not frames: left out.
  /// Objects, packets, blocks and records of binary captures that are not frames: left out.
  int64_t other_records = 0;
  int64_t stray_bytes = 0;    ///< Bytes of a binary capture between records or after a frame: left out.
  int64_t no_time = 0;        ///< Frames without a time: they get that of the last frame that has one.
  int64_t cut_off_bytes = 0;  ///< Bytes of the line or record in which a capture ends: left out.

  /// Nanoseconds that passed in these lines if times are differences. Not a count.
  int64_t elapsed_ns = 0;

  void add(const LineNotes& other);
  /// The counts that are not 0, such as {"odd_payload": 1}.
  Json to_json() const;
};

/// Properties of all frames of a capture.
struct CaptureFacts {
  std::string name;  ///< Name of the format.
  bool has_time = true;
  bool has_payload = true;
  bool labelled = true;
};

/// Value of FormatOptions::payload that leaves the choice to Plimsoll. ingest_can() and convert_capture() use
/// 64 bytes if a frame needs them, otherwise 8, but ingest_can() always uses 64 if a source is a pipe, and 8
/// for a shard. A stream always uses 64. CaptureFormat::make() refuses this value.
inline constexpr int64_t kChosenPayload = 0;
inline constexpr int64_t kFdPayloadBytes = 64;  ///< Maximum payload bytes of a CAN FD frame.

/// The form of a capture's times: numbers in a unit, times of day, none, or seconds since the line before.
enum class TimeUnit : uint8_t { seconds, milliseconds, microseconds, time_of_day, none, delta };
template <>
inline constexpr auto kWords<TimeUnit> = std::to_array<std::string_view>({"s", "ms", "us", "timeofday",
                                                                          "none", "delta"});

/// Values of FormatOptions::name that are not formats: kAnyFormat detects the format, and kTableFormat reads
/// columns that the user describes.
inline constexpr std::string_view kAnyFormat = "auto";
inline constexpr std::string_view kTableFormat = "table";
/// The format whose lines may lack times and labels.
inline constexpr std::string_view kCandump = "candump";

/// Options with which the user describes captures. Anything not given is detected.
struct FormatOptions {
  std::string name = "auto";  ///< One of capture_formats(), or "table".
  int64_t payload = 8;        ///< Maximum payload bytes per frame: 8, 64 (CAN FD) or kChosenPayload.
  /// Read only the channel that the capture names so, if the format records channels; empty for all.
  std::string channel = {};
  /// New names of channels, by name. Channels with the same new name become one.
  std::map<std::string, std::string> channel_names = {};
  bool merge_channels = false;  ///< All channels of a capture become one recording.
  bool benign = false;          ///< Every frame is labelled 0. A frame labelled as an attack is an error.
  /// A capture that is cut off is an error; otherwise it is read up to the cut.
  bool refuse_truncated = false;
  /// Label texts that mean an attack, for tables and candump. With any, every other text is benign. If empty,
  /// parse_label() knows the usual texts, and candump logs have no labels.
  std::vector<std::string> attack_labels = {};

  // Options of the format "table".
  /// Contents of the columns: time, id, channel, extended, length, payload, byte, bytes (all remaining
  /// columns), label, or - for a column that is left out. "byte*8" stands for eight columns. The last entry
  /// may be "...", which leaves out the remaining columns.
  std::vector<std::string> columns = {};
  std::string separator = ",";  ///< One character, "tab", or "space" for runs of blanks.
  std::string quote = {};       ///< One character around fields that hold separators.
  bool decimal_id = false;
  bool decimal_bytes = false;
  /// Default: seconds; for candump, the kind is detected from the times.
  std::optional<TimeUnit> time = {};
  bool length_in_bits = false;

  /// Receives warnings about a capture that is read nevertheless; null to drop them. By default it prints
  /// them to stderr.
  std::function<void(const std::string&)> warn = warn_on_stderr;
  static void warn_on_stderr(const std::string& text);

  Json to_json() const;  ///< JSON for the provenance.
  /// The name of a channel in manifests and alarms.
  std::string name_of_channel(const std::string& channel_of_capture) const;
};

/// Values of FormatOptions::name except `table`; auto is first.
const std::vector<std::string>& capture_formats();

/// Parses the lines of one kind of capture into frames. Immutable, so any number of threads may parse with
/// it.
class CaptureFormat {
 public:
  virtual ~CaptureFormat() = default;

  /// Appends the frame of a line, which has no line end. Returns false if the line is valid but yields no
  /// frame, such as a header, a comment or a frame of a channel that is not read. `first` is set for the
  /// first line of the file. `notes` must be those of the earlier lines of the chunk, and are added to.
  /// Throws LineError; `out` may then hold part of the frame, and `notes` may count the line.
  virtual bool parse(std::string_view line, bool first, FrameBatch& out, LineNotes& notes) const = 0;

  /// Appends the frames of the leading lines of `text` that have the usual form, if the format has a faster
  /// parser for it. Adds their number to `lines` and returns their bytes. The next line must go to parse().
  virtual size_t parse_usual(std::string_view /*text*/, FrameBatch& /*out*/, int64_t& /*lines*/) const {
    return 0;
  }

  virtual std::string name() const = 0;
  virtual bool has_time() const { return true; }
  /// Whether each time in the file counts from the line before. If so, the appended times count from the
  /// start of the chunk, and LineNotes::elapsed_ns is the duration of the chunk.
  virtual bool has_differences() const { return false; }
  virtual bool has_payload() const { return true; }
  virtual bool labelled() const { return true; }
  /// Warnings about the file, as "LINE: TEXT" or " TEXT".
  virtual std::vector<std::string> warnings() const { return {}; }

  CaptureFacts facts() const { return {name(), has_time(), has_payload(), labelled()}; }

  /// Makes the format that options.name names or, with kAnyFormat, the first one that fits the file's first
  /// lines. options.warn receives the warnings of the format. Throws UsageError for wrong options, among them
  /// a payload other than 8 or 64, and InputError that names `file` if no text format fits, if the lines are
  /// blank, or if options.name is a binary format.
  static std::unique_ptr<CaptureFormat> make(const FormatOptions& options, std::string_view first_lines,
                                             const std::string& file);
};

}  // namespace plimsoll
