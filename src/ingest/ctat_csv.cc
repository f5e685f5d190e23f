#include "ingest/ctat_csv.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr std::string_view kHeader = "timestamp,arbitration_id,data_field,attack";
constexpr int kFields = 4;
constexpr uint8_t kNoDigit = 255;

constexpr std::array<uint8_t, 256> make_hex_digits() {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (unsigned i = 0; i < 10; ++i) digits['0' + i] = static_cast<uint8_t>(i);
  for (unsigned i = 0; i < 6; ++i) digits['a' + i] = digits['A' + i] = static_cast<uint8_t>(10 + i);
  return digits;
}
constexpr std::array<uint8_t, 256> kHexDigits = make_hex_digits();

uint8_t hex_digit(char c) {
  return kHexDigits[static_cast<unsigned char>(c)];
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// What is wrong with a line, and where; becomes an InputError once file and line number are at hand.
struct Wrong {
  const char* at;
  std::string expected;
};

int64_t parse_time_ns(std::string_view text) {
  constexpr int64_t kMostSeconds = 9'000'000'000;  // the year 2255; seconds times 1e9 still fit
  int64_t seconds = 0;
  size_t i = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    seconds = seconds * 10 + (text[i] - '0');
    if (seconds > kMostSeconds) throw Wrong{text.data(), "a time in seconds below 9000000000"};
  }
  if (i == 0) throw Wrong{text.data(), "a time in seconds, such as 1513920254.785127"};
  int64_t nanoseconds = 0;
  if (i < text.size() && text[i] == '.') {
    int64_t scale = 100'000'000;
    for (++i; i < text.size() && is_digit(text[i]); ++i, scale /= 10) {
      if (scale == 0) throw Wrong{text.data() + i, "at most 9 digits behind the point of a time"};
      nanoseconds += (text[i] - '0') * scale;
    }
  }
  if (i != text.size()) throw Wrong{text.data() + i, "a time in seconds, such as 1513920254.785127"};
  return seconds * 1'000'000'000 + nanoseconds;
}

uint32_t parse_id(std::string_view text) {
  if (text.empty() || text.size() > 8) throw Wrong{text.data(), "a CAN ID of 1 to 8 hex digits"};
  uint32_t id = 0;
  for (const char& c : text) {
    if (hex_digit(c) == kNoDigit) throw Wrong{&c, "a CAN ID in hex without prefix"};
    id = id << 4 | hex_digit(c);
  }
  if (id > 0x1FFFFFFF) throw Wrong{text.data(), "a CAN ID of at most 29 bits (1FFFFFFF)"};
  // The format has no flag: what does not fit in 11 bits, or is written with 8 digits as candump does, is
  // extended.
  return id > 0x7FF || text.size() == 8 ? id | kCanExtended : id;
}

// Appends 8 bytes to `data` and returns how many of them are payload.
uint8_t parse_payload(std::string_view text, CsvTraps& traps, Vector<uint8_t, Tag::ingest>& data) {
  const std::string_view digits = trim(text);
  traps.trimmed_payload += digits.size() != text.size();
  traps.odd_payload += static_cast<int64_t>(digits.size() % 2);
  traps.empty_payload += digits.empty();
  if (digits.size() > 2 * kPayloadBytes)
    throw Wrong{digits.data(), "a payload of at most 8 bytes (16 hex digits)"};
  std::array<uint8_t, kPayloadBytes> bytes{};
  for (size_t i = 0; i < digits.size(); ++i) {
    if (hex_digit(digits[i]) == kNoDigit) throw Wrong{digits.data() + i, "hex digits in the payload"};
    if (i % 2 == 1) bytes[i / 2] = static_cast<uint8_t>(hex_digit(digits[i - 1]) << 4 | hex_digit(digits[i]));
  }
  data.insert(data.end(), bytes.begin(), bytes.end());
  return static_cast<uint8_t>(digits.size() / 2);
}

uint8_t parse_label(std::string_view text) {
  if (text == "0") return 0;
  if (text == "1") return 1;
  throw Wrong{text.data(), "0 (normal) or 1 (attack)"};
}

std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 40)) {
    if (c >= ' ' && c < 127)
      result += c;
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > 40 ? result + "..." : result;
}

}  // namespace

Json CsvTraps::to_json() const {
  Json json = Json::object();
  const auto add = [&](const char* name, int64_t count) {
    if (count > 0) json[name] = count;
  };
  add("odd_payload", odd_payload);
  add("trimmed_payload", trimmed_payload);
  add("empty_payload", empty_payload);
  add("time_runs_back", time_runs_back);
  add("blank_lines", blank_lines);
  add("crlf_lines", crlf_lines);
  return json;
}

void CtatCsvParser::parse(std::string_view text, bool last, FrameBatch& out) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const bool ended = end != std::string_view::npos;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(ended ? end + 1 : text.size());
    ++line_;
    if (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
      ++traps_.crlf_lines;
    }
    try {
      parse_line(line, out);
    } catch (const Wrong& wrong) {
      const auto column = static_cast<size_t>(wrong.at - line.data());
      throw InputError(fmt::format(
          "{}:{}:{}: found '{}', expected {}{}", file_, line_, column + 1,
          shown(line.substr(std::min(column, line.size()))), wrong.expected,
          last && !ended ? "; the file ends inside this line: fetch it again, or remove the line" : ""));
    }
  }
}

void CtatCsvParser::parse_line(std::string_view line, FrameBatch& out) {
  if (trim(line).empty()) {
    ++traps_.blank_lines;
    return;
  }
  std::array<std::string_view, kFields> fields;
  std::string_view rest = line;
  for (int i = 0; i < kFields; ++i) {
    const size_t comma = rest.find(',');
    if ((comma == std::string_view::npos) != (i == kFields - 1)) {
      const char* const at =
          comma == std::string_view::npos ? line.data() + line.size() : rest.data() + comma;
      throw Wrong{at, fmt::format("four fields: {}", kHeader)};
    }
    fields[static_cast<size_t>(i)] = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  const std::string_view time = trim(fields[0]);
  if (line_ == 1 && !time.empty() && !is_digit(time.front()))
    return;  // the header; columns count by position

  const int64_t time_ns = parse_time_ns(time);
  const uint32_t id = parse_id(trim(fields[1]));
  const uint8_t label = parse_label(trim(fields[3]));
  out.length.push_back(parse_payload(fields[2], traps_, out.data));
  out.time_ns.push_back(time_ns);
  out.can_id.push_back(id);
  out.label.push_back(label);
  traps_.time_runs_back += time_ns < previous_time_;
  previous_time_ = time_ns;
}

}  // namespace plimsoll
