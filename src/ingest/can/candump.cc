#include "ingest/can/channel_choice.h"
#include "ingest/can/fields.h"
#include "ingest/can/formats.h"

namespace plimsoll {
namespace {

constexpr const char* kLayouts = "(SECONDS) CHANNEL ID#DATA or (SECONDS) CHANNEL ID [LENGTH] BYTES";

class Candump : public CaptureFormat {
 public:
  explicit Candump(const FormatOptions& options)
      : channels_(options), attack_labels_(options.attack_labels) {}

  std::string name() const override { return "candump"; }
  bool labelled() const override { return !attack_labels_.empty(); }

  bool parse(std::string_view line, bool, FrameBatch& out, LineNotes& notes) const override {
    std::string_view rest = trim(line);
    const std::string_view time = take_word(rest);
    if (time.size() < 3 || time.front() != '(' || time.back() != ')') throw Wrong{line.data(), kLayouts};
    const int64_t time_ns = parse_seconds(time.substr(1, time.size() - 2), notes);
    const std::string_view channel = take_word(rest);
    if (channel.empty()) throw Wrong{rest.data(), kLayouts};
    if (!channels_.takes(channel, notes)) return false;
    // Direction and flags, which candump -x prints: "RX - -".
    uint8_t flags = 0;
    while (rest.starts_with("RX") || rest.starts_with("TX") || rest.starts_with("- ") ||
           rest.starts_with("B ") || rest.starts_with("E "))
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

 private:
  static uint8_t flag_of(std::string_view word) {
    return word == "TX"  ? kFrameSent
           : word == "B" ? kFrameFd | kFrameBrs
           : word == "E" ? kFrameFd | kFrameEsi
                         : 0;
  }

  // The ID of "20000004": candump prints the error flag as part of it.
  static uint32_t parse_flagged_id(std::string_view text) {
    uint32_t flagged = 0;
    if (text.size() == 8 && (hex_digit(text[0]) & 0xE) == 2 && hex_digit(text[0]) != kNoDigit) {
      for (const char& c : text) {
        if (hex_digit(c) == kNoDigit) throw Wrong{&c, "a CAN ID in hex"};
        flagged = flagged << 4 | hex_digit(c);
      }
      return flagged;  // bit 29 is set: an error frame, whose ID is not extended
    }
    if (text.size() != 3 && text.size() != 8) throw Wrong{text.data(), "a CAN ID of 3 or 8 hex digits"};
    return parse_hex_id(text);
  }

  // "123#AABB", "123#R4", "123##1AABB" (CAN FD, a flag digit first), "123#AA.BB"; of CAN XL
  // "45123#81:00:12345678#AABB"
  static uint32_t compact(std::string_view frame, size_t hash, uint8_t& flags, FrameBatch& out,
                          LineNotes& notes) {
    std::string_view data = frame.substr(hash + 1);
    if (data.size() > 2 && data[2] == ':') throw Wrong{frame.data(), kNoXl};
    uint32_t id = parse_flagged_id(frame.substr(0, hash));
    if (data.starts_with('#')) {
      const uint8_t digit = data.size() > 1 ? hex_digit(data[1]) : kNoDigit;
      if (digit == kNoDigit) throw Wrong{data.data() + 1, "a hex digit of flags"};
      flags |= kFrameFd | (digit & (kFrameBrs | kFrameEsi));
      data.remove_prefix(2);
      if (out.width < 64) throw too_long(data.data(), out.width);
    } else if (data.starts_with('R')) {
      append_payload("", out, notes);
      return id | kCanRemote;
    }
    append_payload(data, out, notes);
    return id;
  }

  // "123  [2]  AA BB", "123  [4]  remote request"
  static uint32_t spaced(std::string_view frame, std::string_view& rest, uint8_t& flags, FrameBatch& out,
                         LineNotes& notes) {
    uint32_t id = parse_flagged_id(frame);
    const std::string_view bracket = take_word(rest);
    if (bracket.size() < 3 || bracket.front() != '[' || bracket.back() != ']')
      throw Wrong{bracket.data(), kLayouts};
    if (bracket.size() > 3) flags |= kFrameFd;  // two digits
    const int64_t length = parse_length(bracket.substr(1, bracket.size() - 2), false);
    if (rest.starts_with("remote request")) {
      rest.remove_prefix(rest.size());
      append_payload("", out, notes);
      return id | kCanRemote;
    }
    if (length > out.width) throw too_long(bracket.data(), out.width);
    std::array<uint8_t, 64> bytes{};
    for (int64_t i = 0; i < length; ++i) bytes[static_cast<size_t>(i)] = parse_byte(take_word(rest), false);
    notes.empty_payload += length == 0;
    append_bytes(bytes.data(), length, out);
    return id;
  }

  // What stands after a frame: a label if the user named label texts, else something to leave out: the
  // direction (newer candump -L), the payload as text in quotes (-a), ERRORFRAME, another tool's marks.
  uint8_t label(std::string_view rest, uint8_t& flags, LineNotes& notes) const {
    if (!attack_labels_.empty()) return parse_label(take_word(rest), attack_labels_);
    if (rest == "T") flags |= kFrameSent;
    notes.suffixes += !rest.empty() && rest != "R" && rest != "T";
    return kUnlabelled;
  }

  ChannelChoice channels_;
  std::vector<std::string> attack_labels_;
};

}  // namespace

std::unique_ptr<CaptureFormat> make_candump(const FormatOptions& options) {
  return std::make_unique<Candump>(options);
}

}  // namespace plimsoll
