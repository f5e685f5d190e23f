#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "can/capture/capture_format.h"
#include "ingest/text/characters.h"

namespace plimsoll {

// Parsers of fields that capture formats share. Each parse_ function throws LineError, which points into the
// text given. IDs are returned with SocketCAN's flags (frames.h), times in nanoseconds.

/// The latest time that a frame may have, in the year 2255: nanoseconds still fit in 63 bits.
inline constexpr int64_t kMaxTime = 9'000'000'000'000'000'000;
/// Payload bytes for each DLC of CAN FD.
inline constexpr std::array<int64_t, 16> kLengthOfDlc = {0, 1,  2,  3,  4,  5,  6,  7,
                                                         8, 12, 16, 20, 24, 32, 48, 64};

/// Parses seconds since 1970 or since a start, "1513920254.785127", which must not be negative. Up to nine
/// digits after the point are exact. More digits and "9e-06" are rounded to the nanosecond and noted.
int64_t parse_seconds(std::string_view text, LineNotes& notes);
/// Parses a number of milliseconds or microseconds, each of which is `scale` nanoseconds. Whole numbers are
/// exact; others are rounded to the nanosecond and noted. The result is not negative and may exceed kMaxTime.
int64_t parse_scaled_time(std::string_view text, int64_t scale, LineNotes& notes);
/// Parses a time since midnight, "14:28:27.493". A third colon is followed by milliseconds or, if there are
/// four digits, by tenths of milliseconds, as BUSMASTER writes them: "14:28:27:493", "14:28:27:4930". The
/// second may be 60, a leap second.
int64_t parse_time_of_day(std::string_view text);
/// Parses "2018-12-06 09:31:30.572475", read as UTC, to nanoseconds since 1970. The year must be 1970 to
/// 2254.
int64_t parse_date_and_time(std::string_view text);
/// Parses a number such as "1059.9" of ms (`unit` 1,000,000 ns) or us (1,000 ns). Digits below the nanosecond
/// are dropped. The result is not negative.
int64_t parse_decimal_time(std::string_view text, int64_t unit);
/// Parses a time that may have a minus sign. `parse` gets the text after the sign, and its result is negated.
template <typename Parse>
int64_t parse_signed(std::string_view text, Parse&& parse) {
  return text.starts_with('-') ? -parse(text.substr(1)) : parse(text);
}
/// The time `since_ns` after `start_ns`. Throws LineError that points at `at` for a time before 1970 or after
/// 2255.
int64_t add_times(int64_t start_ns, int64_t since_ns, const char* at);

/// Parses a CAN ID of at most 29 bits in hex, with or without 0x. The ID is extended (kCanExtended) if it
/// does not fit in 11 bits or has 8 digits.
uint32_t parse_hex_id(std::string_view text);
/// Whether a field consists of 1 to 8 hex digits, with or without 0x. parse_hex_id() still refuses it if the
/// number has more than 29 bits.
bool is_hex_id(std::string_view text);
/// Parses a decimal ID, which is extended if it does not fit in 11 bits.
uint32_t parse_decimal_id(std::string_view text);

/// Whether two texts are equal, ignoring the case of the letters a to z.
bool equal_ignoring_case(std::string_view a, std::string_view b);
/// Parses a truth value: true and false in any case, 1 and 0, or the words of spreadsheets in German, French,
/// Spanish, Italian and Portuguese.
bool parse_truth(std::string_view text);

/// Parses a byte, in hex unless `decimal` is set.
uint8_t parse_byte(std::string_view text, bool decimal);
/// Parses the length of a payload, a number up to 512, and returns it in bytes. If `bits` is set, the text
/// counts bits, and the result is rounded up. The caller compares it with FrameBatch::width.
int64_t parse_length(std::string_view text, bool bits);

/// Parses the hex digits of a payload without blanks between them. Appends the length, and the payload padded
/// to out.width bytes; the caller appends the other columns. Throws LineError; the payload may then be
/// appended without its length.
void append_payload(std::string_view digits, FrameBatch& out, LineNotes& notes);
/// Appends the length and the payload of a frame: `count` bytes, at most out.width. The caller appends the
/// other columns.
void append_bytes(const uint8_t* bytes, int64_t count, FrameBatch& out);
/// Appends a frame of `count` bytes, at most out.width, with the label kUnlabelled, and without setting its
/// channel or flags.
void append_unlabelled(int64_t time_ns, uint32_t id, const uint8_t* bytes, int64_t count, FrameBatch& out);
/// Returns the error for a payload longer than `width`, the bytes per frame of the batch. If `width` is 8, it
/// names --payload 64 as the remedy and sets LineError::is_too_long.
LineError too_long(const char* at, int64_t width);

/// Text of LineError::expected for a frame of CAN XL.
inline constexpr const char* kNoXl = "CAN or CAN FD; frames of CAN XL are not read";

/// Parses a label to 0 or 1. If `attack_labels` is not empty, its texts mean 1 and all others 0. Otherwise
/// the texts 0, 0.0, false, normal, benign and R mean 0; the texts 1, 1.0, true, attack and T mean 1; others
/// are refused. Upper and lower case are the same.
uint8_t parse_label(std::string_view text, const std::vector<std::string>& attack_labels);

}  // namespace plimsoll
