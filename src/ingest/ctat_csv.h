#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/json.h"
#include "ingest/frame_batch.h"

namespace plimsoll {

/// What was found in a file and handled on purpose (docs/can-formats.md says how). Counts of lines.
struct CsvTraps {
  int64_t odd_payload = 0;      ///< an odd number of hex digits: the last half byte is dropped
  int64_t trimmed_payload = 0;  ///< blanks or tabs around the payload
  int64_t empty_payload = 0;    ///< no payload: length 0
  int64_t time_runs_back = 0;   ///< an earlier time than the line before; the file's order is kept
  int64_t blank_lines = 0;      ///< skipped
  int64_t crlf_lines = 0;       ///< ended by CR LF

  /// Only those that occurred: {"odd_payload": 1}
  Json to_json() const;
};

/// The four-column CSV of can-train-and-test: timestamp in seconds, ID in hex, payload in hex, attack 0 or 1,
/// by position, below a header line. Parses text in pieces of whole lines. Not thread-safe.
class CtatCsvParser {
 public:
  /// `file` is for the error texts.
  explicit CtatCsvParser(std::string file) : file_(std::move(file)) {}

  /// Appends the frames of `text` to `out`. `last` tells that the file ends with it, perhaps without a line
  /// break. Errors: InputError with file, line and column, what was found and what was expected.
  void parse(std::string_view text, bool last, FrameBatch& out);

  const CsvTraps& traps() const { return traps_; }
  int64_t lines() const { return line_; }

 private:
  void parse_line(std::string_view line, FrameBatch& out);

  std::string file_;
  CsvTraps traps_;
  int64_t line_ = 0;
  int64_t previous_time_ = std::numeric_limits<int64_t>::min();
};

}  // namespace plimsoll
