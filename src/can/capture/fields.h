#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "can/capture/capture_format.h"
#include "ingest/text/characters.h"

namespace plimsoll {

// Parsers of fields that capture formats share. All throw LineError, which points into the text given.

/// The latest time that a frame may have, in the year 2255: nanoseconds still fit in 63 bits.
inline constexpr int64_t kMaxTime = 9'000'000'000'000'000'000;
/// Payload bytes for each DLC of CAN FD.
inline constexpr std::array<int64_t, 16> kLengthOfDlc = {0, 1,  2,  3,  4,  5,  6,  7,
                                                         8, 12, 16, 20, 24, 32, 48, 64};

/// Parses seconds since 1970 or since a start, "1513920254.785127", to nanoseconds. Up to nine digits after
/// the point are exact. More digits and "9e-06" are rounded to the nanosecond and noted.
int64_t parse_seconds(std::string_view text, LineNotes& notes);
/// Parses a number of milliseconds or microseconds, each of which is `scale` nanoseconds.
int64_t parse_scaled_time(std::string_view text, int64_t scale, LineNotes& notes);
/// Parses a time since midnight, "14:28:27.493". A third colon is followed by milliseconds or, if there are
/// four digits, by tenths of milliseconds, as BUSMASTER writes them: "14:28:27:493", "14:28:27:4930".
int64_t parse_time_of_day(std::string_view text);
/// Parses "2018-12-06 09:31:30.572475", read as UTC.
int64_t parse_date_and_time(std::string_view text);
/// Parses a number with a point, "1059.9", in ms (unit 1,000,000 ns) or us, exactly to the nanosecond. The
/// result is not negative.
int64_t parse_decimal_time(std::string_view text, int64_t unit);
/// Parses a time that may have a minus sign. `parse` gets the text after the sign.
template <typename Parse>
int64_t parse_signed(std::string_view text, Parse&& parse) {
  return text.starts_with('-') ? -parse(text.substr(1)) : parse(text);
}
/// The time `since_ns` after `start_ns`. Throws LineError that points at `at` for a time before 1970 or after
/// 2255.
int64_t add_times(int64_t start_ns, int64_t since_ns, const char* at);

/// Parses a CAN ID in hex, with or without 0x. The ID is extended (29 bits) if it does not fit in 11 bits or
/// has 8 digits.
uint32_t parse_hex_id(std::string_view text);
/// Whether a field can be read as an ID in hex.
bool is_hex_id(std::string_view text);
/// Parses a decimal ID, which is extended if it does not fit in 11 bits.
uint32_t parse_decimal_id(std::string_view text);

/// Whether two texts are equal, ignoring case.
bool equal_ignoring_case(std::string_view a, std::string_view b);
/// Parses a truth value: true and false in any case, 1 and 0, or the words of spreadsheets in German, French,
/// Spanish, Italian and Portuguese.
bool parse_truth(std::string_view text);

uint8_t parse_byte(std::string_view text, bool decimal);
int64_t parse_length(std::string_view text, bool bits);

/// Parses hex digits without blanks between them. Appends the length, and the payload padded to out.width
/// bytes.
void append_payload(std::string_view digits, FrameBatch& out, LineNotes& notes);
/// Appends bytes that are already parsed, at most out.width.
void append_bytes(const uint8_t* bytes, int64_t count, FrameBatch& out);
/// Appends a frame of a format without labels.
void append_unlabelled(int64_t time_ns, uint32_t id, const uint8_t* bytes, int64_t count, FrameBatch& out);
/// The error for a payload longer than the width of the set. Its remedy is --payload 64.
LineError too_long(const char* at, int64_t width);

/// Text of LineError::expected for a frame of CAN XL.
inline constexpr const char* kNoXl = "CAN or CAN FD; frames of CAN XL are not read";

/// Parses a label, 0 or 1. If `attack_labels` is empty, the texts 0, 0.0, false, normal, benign and R mean 0,
/// and 1, 1.0, true, attack and T mean 1, in any case.
uint8_t parse_label(std::string_view text, const std::vector<std::string>& attack_labels);

}  // namespace plimsoll
