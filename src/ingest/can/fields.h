#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/can/capture_format.h"
#include "ingest/text/characters.h"

namespace plimsoll {

// The fields that capture formats share. All throw Wrong, which points into the text given.

/// Seconds since 1970 or since a start, "1513920254.785127", to nanoseconds. Up to nine digits after the
/// point are exact; more, and "9e-06", are rounded to the nanosecond and noted.
int64_t parse_seconds(std::string_view text, LineNotes& notes);
/// A number of ms or us ("scale" nanoseconds each), or a time of day "14:28:27.493" since midnight.
int64_t parse_scaled_time(std::string_view text, int64_t scale, LineNotes& notes);
int64_t parse_time_of_day(std::string_view text);
/// A number with a point, "1059.9", of ms (unit 1,000,000 ns) or us: exact to the nanosecond. Not negative.
int64_t parse_decimal_time(std::string_view text, int64_t unit);

/// A CAN ID in hex, with or without 0x. It is extended (29 bits) if it does not fit in 11 bits or has 8
/// digits.
uint32_t parse_hex_id(std::string_view text);
/// In decimal: extended if it does not fit in 11 bits.
uint32_t parse_decimal_id(std::string_view text);

uint8_t parse_byte(std::string_view text, bool decimal);
int64_t parse_length(std::string_view text, bool bits);

/// Hex digits without blanks between them. Appends batch.width bytes and the length.
void append_payload(std::string_view digits, FrameBatch& out, LineNotes& notes);
/// Bytes already parsed, at most batch.width.
void append_bytes(const uint8_t* bytes, int64_t count, FrameBatch& out);
/// A frame of a format without labels.
void append_unlabelled(int64_t time_ns, uint32_t id, const uint8_t* bytes, int64_t count, FrameBatch& out);
/// The error for a payload over the width of the set; its remedy is --payload 64.
Wrong too_long(const char* at, int64_t width);

/// What is expected in place of a frame of CAN XL.
inline constexpr const char* kNoXl = "CAN or CAN FD; frames of CAN XL are not read";

/// 0 or 1. `attack_labels` empty: 0, 0.0, false, normal, benign, R and 1, 1.0, true, attack, T in any case.
uint8_t parse_label(std::string_view text, const std::vector<std::string>& attack_labels);

}  // namespace plimsoll
