#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "ingest/text/characters.h"

namespace plimsoll {

/// The parts of a line of an ASC log that decide whether it is a frame. The texts are views of the line; a
/// part that the line does not have is empty.
struct AscEvent {
  /// The layout of the line: "1 123 Rx d 8 ...", "CANFD 1 Rx 123 ...", "CANXL 1 Rx FBFF ...".
  enum Kind { other, classic, fd, xl, error } kind = other;
  std::string_view first;   ///< The time, or the first word of a line without a time.
  std::string_view layout;  ///< The word CANFD or CANXL; empty for the classic layout.
  std::string_view channel;
  std::string_view id;
  std::string_view format;  ///< For CANXL, the kind of frame: CBFF, CEFF, FBFF, FEFF or XLFF.
  /// The words after the ID (for `fd` and `xl`) or after the direction (for `classic`). For `other`, all
  /// words after `first`.
  std::string_view rest;
  uint8_t flags = 0;  ///< kFrameSent for a sent frame, otherwise 0.

  /// Splits a line. Does not throw: a line in no known layout is `other`.
  static AscEvent parse(std::string_view line);
  /// Whether a CANXL line holds a frame of classic CAN or CAN FD.
  bool has_other_frame() const;
};

/// Whether a word equals `lower`, which is in lower case, ignoring case.
inline bool same_word(std::string_view word, std::string_view lower) {
  return word.size() == lower.size() &&
         std::equal(word.begin(), word.end(), lower.begin(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}
inline bool is_all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}
/// Whether a word starts like a time, which may be negative.
bool is_asc_time(std::string_view word);

}  // namespace plimsoll
