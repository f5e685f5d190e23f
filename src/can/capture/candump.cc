#include "can/capture/candump_times.h"
#include "can/capture/channel_choice.h"
#include "can/capture/fields.h"
#include "can/capture/formats.h"

namespace plimsoll {
namespace {

constexpr const char* kLayouts =
    "(SECONDS) CHANNEL ID#DATA or (SECONDS) CHANNEL ID [LENGTH] BYTES, in candump's log format (candump -L)";
constexpr const char* kWithoutTimes = "CHANNEL ID [LENGTH] BYTES without a time, as in the lines before";

class Candump : public CaptureFormat {
 public:
  Candump(const FormatOptions& options, std::string_view first_lines)
      : channels_(options),
        attack_labels_(options.attack_labels),
        times_(CandumpTimes::detect(options, first_lines)) {}

  std::string name() const override { return "candump"; }
  bool labelled() const override { return !attack_labels_.empty(); }
  bool has_time() const override { return times_.kind != CandumpTimes::none; }
  bool has_differences() const override { return times_.kind == CandumpTimes::differences; }
  std::vector<std::string> warnings() const override {
    return times_.warning.empty() ? std::vector<std::string>() : std::vector{times_.warning};
  }

  bool parse(std::string_view line, bool, FrameBatch& out, LineNotes& notes) const override {
    if (line.find('\x1b') == std::string_view::npos) return parse_plain(line, out, notes);
    const std::string plain = without_colours(line);
    try {
      return parse_plain(plain, out, notes);
    } catch (const LineError& wrong) {
      throw LineError{line.data(), wrong.expected, wrong.is_too_long};
    }
  }

 private:
  bool parse_plain(std::string_view line, FrameBatch& out, LineNotes& notes) const {
    std::string_view rest = trim(line);
    if (!rest.starts_with('(') && is_other_candump_line(rest)) {
      ++notes.other_lines;
      return false;
    }
    const int64_t time_ns = take_time(rest, notes);
    const std::string_view channel = take_word(rest);
    if (channel.empty()) throw LineError{rest.data(), kLayouts};
    if (!channels_.should_read(channel, notes)) return false;
    // Direction and flags as candump -x prints them: "RX - -".
    uint8_t flags = 0;
    while (rest.size() > 1 && (rest[1] == ' ' || rest[1] == 'X') &&
           (rest.starts_with("RX") || rest.starts_with("TX") || rest.starts_with("- ") ||
            rest.starts_with("B ") || rest.starts_with("E ")))
      if (rest.find('#') < rest.find(' '))
        break;
      else
        flags |= flag_of(take_word(rest));
    const std::string_view frame = take_word(rest);
    const size_t hash = frame.find('#');
    const uint32_t id = hash == std::string_view::npos ? spaced(frame, rest, flags, out, notes)
                                                       : compact(frame, hash, flags, out, notes);
    out.time_ns.push_back(time_ns);
    out.can_id.push_back(id);
    out.label.push_back(label(rest, flags, notes));
    out.set_flags(flags);
    set_channel(channel, out);
    return true;
  }

  // Reads "(1615000000.000100)", "(2018-12-06 09:31:30.572475)", or nothing.
  int64_t take_time(std::string_view& rest, LineNotes& notes) const {
    const bool is_timed = rest.starts_with('(');
    if (times_.kind == CandumpTimes::none) {
      if (is_timed) throw LineError{rest.data(), kWithoutTimes};
      return 0;
    }
    const size_t end = rest.find(')');
    if (!is_timed || end == std::string_view::npos || end < 2) throw LineError{rest.data(), kLayouts};
    const std::string_view text = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (!rest.empty() && !is_blank(rest.front())) throw LineError{rest.data(), kLayouts};
    rest = trim(rest);
    if (text.find(' ') != std::string_view::npos) return parse_date_and_time(text);
    const int64_t time_ns = parse_seconds(text, notes);
    if (!has_differences()) return time_ns;
    ++notes.added_time;
    return notes.elapsed_ns = add_times(notes.elapsed_ns, time_ns, text.data());
  }

  static uint8_t flag_of(std::string_view word) {
    return word == "TX"  ? kFrameSent
           : word == "B" ? kFrameFd | kFrameBrs
           : word == "E" ? kFrameFd | kFrameEsi
                         : 0;
  }

  // Parses an ID that candump prints with the error flag, such as "20000004".
  static uint32_t parse_flagged_id(std::string_view text) {
    uint32_t flagged = 0;
    if (text.size() == 8 && (hex_digit(text[0]) & 0xE) == 2 && hex_digit(text[0]) != kNoDigit) {
      for (const char& c : text) {
        if (hex_digit(c) == kNoDigit) throw LineError{&c, "a CAN ID in hex"};
        flagged = flagged << 4 | hex_digit(c);
      }
      return flagged;  // Bit 29 marks an error frame, whose ID is not extended.
    }
    if (text.size() != 3 && text.size() != 8) throw LineError{text.data(), "a CAN ID of 3 or 8 hex digits"};
    return parse_hex_id(text);
  }

  // Parses "123#AABB", "123#R4", "123##1AABB" (CAN FD; a flag digit comes first), "123#AA.BB" and
  // "123#1122334455667788_E" (the DLC after 8 bytes); refuses CAN XL, "45123#81:00:12345678#AABB".
  static uint32_t compact(std::string_view frame, size_t hash, uint8_t& flags, FrameBatch& out,
                          LineNotes& notes) {
    std::string_view data = frame.substr(hash + 1);
    if (data.size() > 2 && data[2] == ':') throw LineError{frame.data(), kNoXl};
    const uint32_t id = parse_flagged_id(frame.substr(0, hash));
    if (data.starts_with('#')) {
      const uint8_t digit = data.size() > 1 ? hex_digit(data[1]) : kNoDigit;
      if (digit == kNoDigit) throw LineError{data.data() + 1, "a hex digit of flags"};
      flags |= kFrameFd | (digit & (kFrameBrs | kFrameEsi));
      data.remove_prefix(2);
      if (out.width < 64) throw too_long(data.data(), out.width);
    } else if (data.starts_with('R') || data.starts_with('r')) {
      append_payload("", out, notes);
      return id | kCanRemote;
    } else if (data.size() > 2 && data[data.size() - 2] == '_') {
      data.remove_suffix(2);
      if (data.find('_') != std::string_view::npos || !has_eight_bytes(data))
        throw LineError{data.data(), "8 bytes before a DLC over 8"};
    }
    append_separated(data, out, notes);
    return id;
  }

  static bool has_eight_bytes(std::string_view data) {
    return data.size() - static_cast<size_t>(std::ranges::count(data, '.')) == 16;
  }

  // Appends a payload whose bytes may have points between them.
  static void append_separated(std::string_view data, FrameBatch& out, LineNotes& notes) {
    if (data.find('.') == std::string_view::npos) return append_payload(data, out, notes);
    std::array<char, 128> digits{};
    size_t count = 0;
    for (const char& c : data) {
      if (c == '.') continue;
      if (count == digits.size()) throw too_long(data.data(), out.width);
      if (hex_digit(c) == kNoDigit) throw LineError{&c, "hex digits in the payload"};
      digits[count++] = c;
    }
    if (static_cast<int64_t>(count) > 2 * out.width) throw too_long(data.data(), out.width);
    append_payload({digits.data(), count}, out, notes);
  }

  // Parses "123  [2]  AA BB", "123  [4]  remote request" and "123  {E}  ..." (the DLC, -8).
  static uint32_t spaced(std::string_view frame, std::string_view& rest, uint8_t& flags, FrameBatch& out,
                         LineNotes& notes) {
    const uint32_t id = parse_flagged_id(frame);
    const std::string_view bracket = take_word(rest);
    const int64_t length = length_of(bracket, flags);
    if (rest.starts_with("remote request")) {
      rest.remove_prefix(rest.size());
      append_payload("", out, notes);
      return id | kCanRemote;
    }
    if (length > out.width) throw too_long(bracket.data(), out.width);
    std::array<uint8_t, 64> bytes{};
    if (rest.substr(0, rest.find(' ')).find('`') != std::string_view::npos)
      take_swapped(rest, length, bytes);
    else
      for (int64_t i = 0; i < length; ++i) bytes[static_cast<size_t>(i)] = byte_of(take_word(rest));
    notes.empty_payload += length == 0;
    append_bytes(bytes.data(), length, out);
    return id;
  }

  static int64_t length_of(std::string_view bracket, uint8_t& flags) {
    const bool is_dlc = bracket.size() == 3 && bracket.front() == '{' && bracket.back() == '}';
    if (is_dlc) {
      const uint8_t dlc = hex_digit(bracket[1]);
      if (dlc == kNoDigit) throw LineError{bracket.data() + 1, "a DLC in hex"};
      return std::min<int64_t>(dlc, 8);
    }
    if (bracket.size() < 3 || bracket.front() != '[' || bracket.back() != ']')
      throw LineError{bracket.data(), kLayouts};
    if (bracket.size() > 4) throw LineError{bracket.data(), kNoXl};
    if (bracket.size() > 3) flags |= kFrameFd;  // Two digits mark CAN FD.
    return parse_length(bracket.substr(1, bracket.size() - 2), false);
  }

  // Parses a byte in hex, or in binary (-i).
  static uint8_t byte_of(std::string_view word) {
    if (word.size() != 8) return parse_byte(word, false);
    unsigned value = 0;
    for (const char& c : word) {
      if (c != '0' && c != '1') throw LineError{&c, "a byte in hex or binary"};
      value = value << 1 | static_cast<unsigned>(c - '0');
    }
    return static_cast<uint8_t>(value);
  }

  // Reads bytes with the last byte first: "88`77`66" (-S).
  static void take_swapped(std::string_view& rest, int64_t length, std::array<uint8_t, 64>& bytes) {
    std::string_view word = take_word(rest);
    for (int64_t i = length - 1; i >= 0; --i) {
      const size_t end = word.find('`');
      bytes[static_cast<size_t>(i)] = byte_of(word.substr(0, end));
      word = end == std::string_view::npos ? word.substr(word.size()) : word.substr(end + 1);
    }
    if (!word.empty()) throw LineError{word.data(), "as many bytes as the length says"};
  }

  // Reads the words after a frame: a label if the user named label texts. Other words are left out: the
  // direction (newer candump -L), the payload as text in quotes (-a), ERRORFRAME, or marks of another tool.
  uint8_t label(std::string_view rest, uint8_t& flags, LineNotes& notes) const {
    if (!attack_labels_.empty()) return parse_label(take_word(rest), attack_labels_);
    if (rest == "T") flags |= kFrameSent;
    notes.suffixes += !rest.empty() && rest != "R" && rest != "T";
    return kUnlabelled;
  }

  ChannelChoice channels_;
  std::vector<std::string> attack_labels_;
  CandumpTimes times_;
};

}  // namespace

std::unique_ptr<CaptureFormat> make_candump(const FormatOptions& options, std::string_view first_lines) {
  return std::make_unique<Candump>(options, first_lines);
}

}  // namespace plimsoll
