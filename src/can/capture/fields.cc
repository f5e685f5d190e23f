#include "can/capture/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

namespace plimsoll {
namespace {

constexpr const char* kDayExample = "a time of day, such as 14:28:27.493";
constexpr const char* kTimeExample = "a time in seconds, such as 1513920254.785127";
constexpr int64_t kMaxSeconds = 9'000'000'000;  // The year 2255: nanoseconds still fit in 63 bits.

uint32_t checked_id(uint64_t id, std::string_view text, bool extended) {
  if (id > 0x1FFFFFFF) throw LineError{text.data(), "a CAN ID of at most 29 bits (1FFFFFFF)"};
  return static_cast<uint32_t>(id) | (extended || id > 0x7FF ? kCanExtended : 0);
}

// Parses numbers with characters other than digits and a point.
int64_t parse_rounded(std::string_view text, double scale, LineNotes& notes) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) throw LineError{text.data(), kTimeExample};
  if (!(value >= 0 && value * scale < 9e18))
    throw LineError{text.data(), "a time between 0 and 9000000000 s"};
  ++notes.rounded_time;
  return std::llround(value * scale);
}

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
}

int64_t parse_seconds(std::string_view text, LineNotes& notes) {
  int64_t seconds = 0;
  size_t i = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    seconds = seconds * 10 + (text[i] - '0');
    if (seconds > kMaxSeconds) throw LineError{text.data(), "a time in seconds below 9000000000"};
  }
  if (i == 0 && text.starts_with('-'))
    throw LineError{text.data(), "a time in seconds that is not negative, such as 1513920254.785127"};
  if (i == 0) throw LineError{text.data(), kTimeExample};
  int64_t nanoseconds = 0;
  if (i < text.size() && text[i] == '.') {
    int64_t scale = 100'000'000;
    for (++i; i < text.size() && is_digit(text[i]); ++i, scale /= 10) {
      if (scale == 0) return parse_rounded(text, 1e9, notes);
      nanoseconds += (text[i] - '0') * scale;
    }
  }
  if (i != text.size()) return parse_rounded(text, 1e9, notes);
  return seconds * 1'000'000'000 + nanoseconds;
}

int64_t parse_scaled_time(std::string_view text, int64_t scale, LineNotes& notes) {
  int64_t whole = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (failed == std::errc() && end == text.data() + text.size() && whole >= 0 &&
      whole <= std::numeric_limits<int64_t>::max() / scale)
    return whole * scale;
  return parse_rounded(text, static_cast<double>(scale), notes);
}

int64_t add_times(int64_t start_ns, int64_t since_ns, const char* at) {
  if (since_ns > kMaxTime - start_ns) throw LineError{at, "a time before the year 2255"};
  if (since_ns < -start_ns)
    throw LineError{at, start_ns == 0 ? "a time that is not negative"
                                      : "a time that is not before 1970, or before the start of the file"};
  return start_ns + since_ns;
}

int64_t parse_decimal_time(std::string_view text, int64_t unit) {
  int64_t whole = 0;
  const char* const last = text.data() + text.size();
  const auto [end, failed] = std::from_chars(text.data(), last, whole);
  if (text.starts_with('-')) throw LineError{text.data(), "a time that is not negative, such as 1059.9"};
  if (failed != std::errc() || !is_digit(text.front()) || whole > kMaxTime / unit)
    throw LineError{text.data(), "a time, such as 1059.9"};
  int64_t time_ns = whole * unit;
  const char* at = end;
  if (at < last && *at == '.')
    for (++at; at < last && is_digit(*at); ++at) time_ns += (*at - '0') * (unit /= 10);
  if (at != last) throw LineError{at, "a time, such as 1059.9"};
  return time_ns;
}

int64_t parse_time_of_day(std::string_view text) {
  std::array<int64_t, 4> parts{};  // Hours, minutes, seconds, fraction.
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t p = 0; p < 3; ++p) {
    const auto [stop, failed] = std::from_chars(at, end, parts[p]);
    const bool separated = p == 2 || (stop < end && *stop == ':');
    if (failed != std::errc() || stop - at > 2 || parts[p] < 0 || !separated)
      throw LineError{at, kDayExample};
    at = stop + (p < 2 ? 1 : 0);
  }
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 60)
    throw LineError{text.data(), "a time of day below 24:00:00"};
  int64_t scale = 1'000'000'000;
  if (at < end && *at == '.') {
    for (++at; at < end && is_digit(*at); ++at) parts[3] += (*at - '0') * (scale /= 10);
  } else if (at < end && *at == ':') {
    const char* const first = ++at;
    for (; at < end && at - first < 4 && is_digit(*at); ++at) parts[3] = parts[3] * 10 + (*at - '0');
    if (at == first) throw LineError{at, kDayExample};
    parts[3] *= at - first == 4 ? 100'000 : 1'000'000;
  }
  // Some tools add ".0" after the milliseconds.
  if (std::string_view(at, static_cast<size_t>(end - at)) != ".0" && at != end)
    throw LineError{at, kDayExample};
  return (parts[0] * 3600 + parts[1] * 60 + parts[2]) * 1'000'000'000 + parts[3];
}

int64_t parse_date_and_time(std::string_view text) {
  constexpr const char* kExample = "a date and a time, such as 2018-12-06 09:31:30.572475";
  const auto number = [&](size_t at, size_t digits) {
    unsigned value = 0;
    const char* const first = text.data() + at;
    const auto [end, failed] = std::from_chars(first, first + digits, value);
    if (failed != std::errc() || end != first + digits) throw LineError{first, kExample};
    return value;
  };
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || !is_blank(text[10]))
    throw LineError{text.data(), kExample};
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number(0, 4))),
                                         std::chrono::month(number(5, 2)), std::chrono::day(number(8, 2))};
  if (!date.ok() || date.year() < std::chrono::year(1970) || date.year() > std::chrono::year(2254))
    throw LineError{text.data(), kExample};
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86'400'000'000'000 + parse_time_of_day(text.substr(11));
}

uint32_t parse_hex_id(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  if (digits.empty() || digits.size() > 8) throw LineError{text.data(), "a CAN ID of 1 to 8 hex digits"};
  uint32_t id = 0;
  for (const char& c : digits) {
    if (hex_digit(c) == kNoDigit) throw LineError{&c, "a CAN ID in hex"};
    id = id << 4 | hex_digit(c);
  }
  return checked_id(id, text, digits.size() == 8);
}

bool is_hex_id(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return !text.empty() && text.size() <= 8 &&
         std::ranges::all_of(text, [](char c) { return hex_digit(c) != kNoDigit; });
}

uint32_t parse_decimal_id(std::string_view text) {
  uint64_t id = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (failed != std::errc() || end != text.data() + text.size())
    throw LineError{text.data(), "a CAN ID in decimal"};
  return checked_id(id, text, false);
}

bool parse_truth(std::string_view text) {
  // Nearly all rows have these words, so they are compared first.
  if (text == "0" || text == "false" || text == "False") return false;
  if (text == "1" || text == "true" || text == "True") return true;
  static constexpr std::string_view kTrue[] = {"true", "wahr", "vrai", "verdadero", "vero", "verdadeiro"};
  static constexpr std::string_view kFalse[] = {"false", "falsch", "faux", "falso"};
  const auto is_text = [text](std::string_view word) { return equal_ignoring_case(text, word); };
  if (std::ranges::any_of(kTrue, is_text)) return true;
  if (std::ranges::any_of(kFalse, is_text)) return false;
  throw LineError{text.data(), "true or false"};
}

uint8_t parse_byte(std::string_view text, bool decimal) {
  if (!decimal && text.size() == 2) {
    const uint8_t high = hex_digit(text[0]), low = hex_digit(text[1]);
    if (high != kNoDigit && low != kNoDigit) return static_cast<uint8_t>(high << 4 | low);
  }
  unsigned value = 0;
  const auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), value, decimal ? 10 : 16);
  if (failed != std::errc() || end != text.data() + text.size() || value > 255)
    throw LineError{text.data(), decimal ? "a byte in decimal" : "a byte in hex"};
  return static_cast<uint8_t>(value);
}

int64_t parse_length(std::string_view text, bool bits) {
  int64_t length = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (failed != std::errc() || end != text.data() + text.size() || length < 0 || length > 512)
    throw LineError{text.data(), "a payload length"};
  // Bits need not fill a byte: "1" is one bit of one byte.
  return bits ? (length + 7) / 8 : length;
}

LineError too_long(const char* at, int64_t width) {
  if (width < 64)
    return {at, fmt::format("a payload of at most {} bytes; give --payload 64 for CAN FD frames", width),
            true};
  return {at, "a payload of at most 64 bytes"};
}

void append_payload(std::string_view digits, FrameBatch& out, LineNotes& notes) {
  if (static_cast<int64_t>(digits.size()) > 2 * out.width) throw too_long(digits.data(), out.width);
  notes.odd_payload += static_cast<int64_t>(digits.size() % 2);
  notes.empty_payload += digits.empty();
  const size_t first = out.data.size();
  out.data.resize(first + static_cast<size_t>(out.width));
  uint8_t* const bytes = out.data.data() + first;
  std::fill_n(bytes, out.width, uint8_t{0});
  uint8_t bad = 0;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    const uint8_t high = hex_digit(digits[i]);
    const uint8_t low = hex_digit(digits[i + 1]);
    bad |= high | low;
    bytes[i / 2] = static_cast<uint8_t>(high << 4 | low);
  }
  if (digits.size() % 2 == 1) bad |= hex_digit(digits.back());
  if (bad > 15)
    throw LineError{
        &*std::find_if(digits.begin(), digits.end(), [](char c) { return hex_digit(c) == kNoDigit; }),
        "hex digits in the payload"};
  out.length.push_back(static_cast<uint8_t>(digits.size() / 2));
}

void append_bytes(const uint8_t* bytes, int64_t count, FrameBatch& out) {
  const size_t first = out.data.size();
  out.data.resize(first + static_cast<size_t>(out.width));
  std::fill(std::copy_n(bytes, count, out.data.begin() + static_cast<int64_t>(first)), out.data.end(),
            uint8_t{0});
  out.length.push_back(static_cast<uint8_t>(count));
}

void append_unlabelled(int64_t time_ns, uint32_t id, const uint8_t* bytes, int64_t count, FrameBatch& out) {
  out.append(time_ns, id, bytes, static_cast<size_t>(count), kUnlabelled);
}

uint8_t parse_label(std::string_view text, const std::vector<std::string>& attack_labels) {
  if (!attack_labels.empty())
    return std::any_of(attack_labels.begin(), attack_labels.end(),
                       [&](const std::string& label) { return equal_ignoring_case(text, label); });
  if (text == "0" || text == "1") return static_cast<uint8_t>(text[0] - '0');
  for (const char* normal : {"0.0", "false", "normal", "benign", "R"})
    if (equal_ignoring_case(text, normal)) return 0;
  for (const char* attack : {"1.0", "true", "attack", "T"})
    if (equal_ignoring_case(text, attack)) return 1;
  throw LineError{
      text.data(),
      "a label 0 or 1; name the texts that mean an attack with `plimsoll ingest can --attack-label`"};
}

}  // namespace plimsoll
