#include "can/capture/ctat_lines.h"

#include <emmintrin.h>

#include <bit>
#include <cstring>

namespace plimsoll {
namespace {

// Bytes that must follow the start of a line: a usual line ends within 48 characters, and fields are loaded
// up to 16 characters at a time.
constexpr size_t kReach = 64;
constexpr size_t kLinesAtOnce = 512;

uint64_t load8(const char* at) {
  uint64_t text = 0;
  std::memcpy(&text, at, sizeof(text));
  return text;
}

__m128i load16(const char* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

// Bit i is set if at[i] is a comma.
uint64_t commas(const char* at) {
  const __m128i comma = _mm_set1_epi8(',');
  const auto bits = [&](const char* from) {
    return static_cast<uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(load16(from), comma)));
  };
  return bits(at) | bits(at + 16) << 16 | bits(at + 32) << 32;
}

// Whether eight characters are digits. The first character is in the lowest byte.
bool are_digits(uint64_t text) {
  constexpr uint64_t kHigh = 0xF0F0F0F0F0F0F0F0;
  return ((text & kHigh) | (((text + 0x0606060606060606) & kHigh) >> 4)) == 0x3333333333333333;
}

// The number that eight digits represent. Each multiplication adds neighbours: it joins digits to pairs,
// pairs to fours, and fours to eight (D. Lemire, "Quickly parsing eight digits", 2018).
uint64_t decimal8(uint64_t text) {
  text -= 0x3030303030303030;
  text = text * 10 + (text >> 8);
  constexpr uint64_t kPairs = 0x000000FF000000FF;
  return ((text & kPairs) * 0x000F424000000064 + ((text >> 16) & kPairs) * 0x0000271000000001) >> 32;
}

struct HexDigits {
  __m128i values;  // 0 to 15 in each byte; undefined if the character is not a digit.
  uint32_t valid;  // Bit i is set if character i is a hex digit.
};

HexDigits hex16(__m128i text) {
  const __m128i digit = _mm_sub_epi8(text, _mm_set1_epi8('0'));
  const __m128i letter = _mm_sub_epi8(_mm_or_si128(text, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
  const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit);
  const __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(5)), letter);
  const __m128i values = _mm_or_si128(_mm_and_si128(is_digit, digit),
                                      _mm_and_si128(is_letter, _mm_add_epi8(letter, _mm_set1_epi8(10))));
  return {values, static_cast<uint32_t>(_mm_movemask_epi8(_mm_or_si128(is_digit, is_letter)))};
}

// Converts sixteen hex digits to eight bytes, the first in the lowest byte.
uint64_t bytes_of(__m128i digits) {
  const __m128i pairs = _mm_or_si128(_mm_slli_epi16(digits, 4), _mm_srli_epi16(digits, 8));
  return static_cast<uint64_t>(
      _mm_cvtsi128_si64(_mm_packus_epi16(_mm_and_si128(pairs, _mm_set1_epi16(0xFF)), _mm_setzero_si128())));
}

constexpr uint64_t low_bytes(size_t count) {
  return count >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * count)) - 1;
}

// Parses the time field [at, at + size) to nanoseconds. Returns false if it is not usual.
bool usual_time(const char* at, size_t size, int64_t& time_ns) {
  size_t point = 10;
  uint64_t seconds = 0;
  if (at[10] == '.') {
    const uint64_t head = load8(at);
    const auto tens = static_cast<unsigned>(at[8] - '0');
    const auto ones = static_cast<unsigned>(at[9] - '0');
    if (!are_digits(head) || tens > 9 || ones > 9) return false;
    seconds = decimal8(head) * 100 + tens * 10 + ones;
  } else {
    for (point = 0; point < 10 && at[point] != '.'; ++point) {
      const auto digit = static_cast<unsigned>(at[point] - '0');
      if (digit > 9) return false;
      seconds = seconds * 10 + digit;
    }
    if (point == 0 || at[point] != '.') return false;
  }
  if (size < point + 2 || size > point + 9 || seconds > 8'999'999'999) return false;
  const uint64_t digits = low_bytes(size - point - 1);
  const uint64_t fraction = (load8(at + point + 1) & digits) | (0x3030303030303030 & ~digits);
  time_ns = static_cast<int64_t>(seconds * 1'000'000'000 + decimal8(fraction) * 10);
  return are_digits(fraction);
}

// The length of the line in bytes if it is usual, otherwise 0. Frame `frame` of `out` is written in either
// case.
size_t usual_line(const char* line, FrameBatch& out, size_t frame) {
  uint64_t rest = commas(line);
  const auto next_comma = [&] {
    const auto at = static_cast<size_t>(std::countr_zero(rest));
    rest &= rest - 1;
    return at;
  };
  const size_t time_end = next_comma();
  const size_t id_end = next_comma();
  if (rest == 0) return 0;
  const size_t payload_end = next_comma();
  const size_t id_digits = id_end - time_end - 1;
  const size_t payload_digits = payload_end - id_end - 1;
  // The ID is loaded from eight characters before its end, which must belong to the line.
  if (id_end < 8 || id_digits - 1 > 7 || payload_digits - 1 > 15 || payload_digits % 2 != 0 ||
      payload_end > 45 || !usual_time(line, time_end, out.time_ns[frame]))
    return 0;

  // The shifts clear the characters before the ID; zero bytes count as leading zeros.
  const uint64_t id_text = load8(line + id_end - 8) >> (8 * (8 - id_digits)) << (8 * (8 - id_digits));
  const uint64_t id_mask = ~low_bytes(8 - id_digits);
  const HexDigits id_hex = hex16(_mm_cvtsi64_si128(static_cast<int64_t>(id_text)));
  const auto id_valid = ~((uint32_t{1} << (8 - id_digits)) - 1) & 0xFF;
  const uint64_t id_values = static_cast<uint64_t>(_mm_cvtsi128_si64(id_hex.values)) & id_mask;
  const uint32_t id =
      __builtin_bswap32(static_cast<uint32_t>(bytes_of(_mm_cvtsi64_si128(static_cast<int64_t>(id_values)))));

  const HexDigits payload = hex16(load16(line + id_end + 1));
  const uint32_t payload_valid = (uint32_t{2} << (payload_digits - 1)) - 1;
  const uint64_t bytes = bytes_of(payload.values) & low_bytes(payload_digits / 2);

  const auto label = static_cast<unsigned>(line[payload_end + 1] - '0');
  if ((id_hex.valid & id_valid) != id_valid || (payload.valid & payload_valid) != payload_valid ||
      label > 1 || line[payload_end + 2] != '\n' || id > 0x1FFFFFFF)
    return 0;

  out.can_id[frame] = id | (id > 0x7FF || id_digits == 8 ? kCanExtended : 0);
  out.length[frame] = static_cast<uint8_t>(payload_digits / 2);
  out.label[frame] = static_cast<uint8_t>(label);
  uint8_t* const data = &out.data[frame * static_cast<size_t>(out.width)];
  if (out.width > kPayloadBytes) std::memset(data, 0, static_cast<size_t>(out.width));
  std::memcpy(data, &bytes, sizeof(bytes));
  return payload_end + 3;
}

}  // namespace

size_t parse_usual_ctat_lines(std::string_view text, FrameBatch& out, int64_t& lines) {
  const char* at = text.data();
  const char* const end = at + text.size();
  size_t line_bytes = 1;
  size_t frame = out.frames();
  while (line_bytes > 0 && end - at >= static_cast<std::ptrdiff_t>(kReach)) {
    const size_t limit = frame + kLinesAtOnce;
    out.truncate(limit);
    while (frame < limit && end - at >= static_cast<std::ptrdiff_t>(kReach)) {
      line_bytes = usual_line(at, out, frame);
      if (line_bytes == 0) break;
      at += line_bytes;
      ++frame;
      ++lines;
    }
  }
  out.truncate(frame);
  return static_cast<size_t>(at - text.data());
}

}  // namespace plimsoll
