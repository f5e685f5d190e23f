#include <array>

#include "ingest/can/channel_choice.h"
#include "ingest/can/formats.h"

// CSV files of tools, which tell them by their header: GVRET and SavvyCAN, python-can.

namespace plimsoll {
namespace {

// The next field of a row. Throws Wrong after the last one.
std::string_view take_field(std::string_view& rest, const char* expected) {
  if (rest.data() == nullptr) throw Wrong{nullptr, expected};
  const size_t comma = rest.find(',');
  const std::string_view field = trim(rest.substr(0, comma));
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  return field;
}

bool parse_flag(std::string_view text) {
  if (text == "true" || text == "1" || text == "True") return true;
  if (text == "false" || text == "0" || text == "False") return false;
  throw Wrong{text.data(), "true or false"};
}

// Errors of rows that end too soon point at their end.
template <typename Parse>
bool parse_row(std::string_view line, Parse&& parse) {
  try {
    return parse();
  } catch (const Wrong& wrong) {
    if (wrong.at != nullptr) throw;
    throw Wrong{line.data() + line.size(), wrong.expected};
  }
}

class Gvret : public CaptureFormat {
 public:
  Gvret(const FormatOptions& options, std::string_view first_lines) : channels_(options) {
    const std::string_view header = cut_line(first_lines);
    has_direction_ = header.find(",Dir,") != std::string_view::npos;
  }

  std::string name() const override { return "gvret"; }
  bool labelled() const override { return false; }

  bool parse(std::string_view line, bool first, FrameBatch& out, LineNotes& notes) const override {
    if (first) return false;
    return parse_row(line, [&] {
      std::string_view rest = line;
      const Head head = take_head(rest);
      const int64_t time_ns = parse_decimal_time(head.time, 1000);
      if (!channels_.takes(head.bus, notes)) return false;
      uint32_t id = parse_hex_id(head.id) & ~kCanExtended;
      if (parse_flag(head.extended) || id > 0x7FF) id |= kCanExtended;
      const int64_t length = parse_length(head.length, false);
      if (length > out.width) throw too_long(head.length.data(), out.width);
      std::array<uint8_t, 64> bytes{};
      for (int64_t i = 0; i < length; ++i)
        bytes[static_cast<size_t>(i)] = parse_byte(take_field(rest, "a byte for each of LEN"), false);
      append_unlabelled(time_ns, id, bytes.data(), length, out);
      out.set_flags(head.direction == "Tx" ? kFrameSent : 0);
      set_channel(head.bus, out);
      return true;
    });
  }

 private:
  struct Head {
    std::string_view time, id, extended, direction, bus, length;
  };
  Head take_head(std::string_view& rest) const {
    constexpr const char* kHeader = "Time Stamp,ID,Extended,[Dir,]Bus,LEN,bytes";
    Head head;
    head.time = take_field(rest, kHeader);
    head.id = take_field(rest, kHeader);
    head.extended = take_field(rest, kHeader);
    if (has_direction_) head.direction = take_field(rest, kHeader);
    head.bus = take_field(rest, kHeader);
    head.length = take_field(rest, kHeader);
    return head;
  }

  ChannelChoice channels_;
  bool has_direction_ = false;
};

class PythonCan : public CaptureFormat {
 public:
  std::string name() const override { return "python-can"; }
  bool labelled() const override { return false; }

  bool parse(std::string_view line, bool first, FrameBatch& out, LineNotes& notes) const override {
    if (first && line.starts_with("timestamp")) return false;
    return parse_row(line, [&] {
      constexpr const char* kHeader = "timestamp,arbitration_id,extended,remote,error,dlc,data";
      std::string_view rest = line;
      const int64_t time_ns = parse_seconds(take_field(rest, kHeader), notes);
      uint32_t id = parse_hex_id(take_field(rest, kHeader)) & ~kCanExtended;
      const bool extended = parse_flag(take_field(rest, kHeader)) || id > 0x7FF;
      const bool remote = parse_flag(take_field(rest, kHeader));
      const bool error = parse_flag(take_field(rest, kHeader));
      take_field(rest, kHeader);  // the DLC, which a remote frame has without a payload
      id |= (error ? kCanError : extended ? kCanExtended : 0) | (remote ? kCanRemote : 0);
      std::array<uint8_t, 64> bytes{};
      const int64_t length = decode(take_field(rest, kHeader), bytes, out.width);
      append_unlabelled(time_ns, id, bytes.data(), remote ? 0 : length, out);
      return true;
    });
  }

 private:
  // Base64 (RFC 4648), padded.
  static int64_t decode(std::string_view text, std::array<uint8_t, 64>& bytes, int64_t width) {
    constexpr const char* kHeader = "a payload in base64";
    if (text.size() % 4 != 0) throw Wrong{text.data(), kHeader};
    size_t digits = text.size();
    while (digits > 0 && text.size() - digits < 2 && text[digits - 1] == '=') --digits;
    const size_t count = digits * 6 / 8;
    if (static_cast<int64_t>(count) > width) throw too_long(text.data(), width);
    uint32_t bits = 0;
    int held = 0;
    size_t filled = 0;
    for (size_t i = 0; i < digits; ++i) {
      bits = bits << 6 | digit(&text[i]);
      held += 6;
      if (held >= 8 && filled < count) bytes[filled++] = static_cast<uint8_t>(bits >> (held -= 8));
    }
    return static_cast<int64_t>(count);
  }

  static uint32_t digit(const char* at) {
    const char c = *at;
    if (c >= 'A' && c <= 'Z') return static_cast<uint32_t>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<uint32_t>(c - 'a' + 26);
    if (is_digit(c)) return static_cast<uint32_t>(c - '0' + 52);
    if (c == '+') return 62;
    if (c == '/') return 63;
    throw Wrong{at, "a payload in base64"};
  }
};

}  // namespace

std::unique_ptr<CaptureFormat> make_gvret(const FormatOptions& options, std::string_view first_lines) {
  return std::make_unique<Gvret>(options, first_lines);
}

std::unique_ptr<CaptureFormat> make_python_can() {
  return std::make_unique<PythonCan>();
}

}  // namespace plimsoll
