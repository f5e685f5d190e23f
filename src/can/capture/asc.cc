#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/shown.h"
#include "can/capture/asc_date.h"
#include "can/capture/asc_event.h"
#include "can/capture/channel_choice.h"
#include "can/capture/formats.h"
#include "can/capture/negative_times.h"

namespace plimsoll {
namespace {

constexpr const char* kAscLine = "SECONDS CHANNEL ID Rx d LENGTH BYTES, as in Vector's ASC";

// Bits of the flags field in CANFD and CANXL lines, as in asc2log.c of can-utils.
constexpr uint32_t kAscRemote = 0x10;
constexpr uint32_t kAscFd = 0x1000;
constexpr uint32_t kAscBrs = 0x2000;
constexpr uint32_t kAscEsi = 0x4000;

std::optional<uint32_t> hex_number(std::string_view text) {
  uint32_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class Asc : public CaptureFormat {
 public:
  Asc(const FormatOptions& options, std::string_view first_lines) : channels_(options) {
    read_header(first_lines);
    if (start_ns_ > 0) return;
    LineNotes notes;
    shift_ns_ = start_ns_ = negative_reach(first_lines, [&](std::string_view line) {
      const AscEvent event = AscEvent::parse(line);
      return event.kind == AscEvent::other ? 0 : seconds_of(event.first, notes);
    });
  }

  std::string name() const override { return "asc"; }
  bool labelled() const override { return false; }
  std::vector<std::string> warnings() const override {
    if (!has_unknown_date_) return {};
    return {
        fmt::format("{}: the date '{}' is not understood, and times count from 1970; write it as in "
                    "`date Mon Mar 7 13:21:51.500 2022`, in English, German, French, Spanish, Italian "
                    "or Portuguese",
                    date_line_, date_)};
  }

  bool parse(std::string_view line, bool, FrameBatch& out, LineNotes& notes) const override {
    const AscEvent event = AscEvent::parse(line);
    if (event.kind == AscEvent::other) return count_other(event, notes);
    if (event.kind == AscEvent::xl && !event.has_other_frame()) throw LineError{event.layout.data(), kNoXl};
    const int64_t time_ns = add_times(start_ns_, seconds_of(event.first, notes), event.first.data());
    if (!channels_.should_read(event.channel, notes)) return false;
    Frame frame;
    frame.flags = event.flags;
    std::string_view rest = event.rest;
    if (event.kind == AscEvent::error) {
      frame.id = kCanError;
    } else {
      frame.id = id_of(event, notes);
      if (event.kind == AscEvent::classic)
        take_classic(rest, out.width, frame, notes);
      else
        take_with_flags(rest, event.kind == AscEvent::xl, event.format, out.width, frame, notes);
    }
    append_unlabelled(time_ns, frame.id, frame.bytes.data(), frame.length, out);
    out.set_flags(frame.flags);
    set_channel(event.channel, out);
    notes.shifted_time += shift_ns_ > 0;
    return true;
  }

 private:
  struct Frame {
    uint32_t id = 0;
    uint8_t flags = 0;
    std::array<uint8_t, 64> bytes{};
    int64_t length = 0;
  };

  void read_header(std::string_view first_lines) {
    std::optional<int64_t> date;
    for (int64_t number = 1; !first_lines.empty(); ++number) {
      std::string_view line = trim(take_line(first_lines));
      const std::string_view word = take_word(line);
      if (same_word(word, "base")) decimal_ = same_word(take_word(line), "dec");
      if (same_word(word, "date")) {
        date = parse_asc_date(line);
        date_ = shown(line);
        date_line_ = number;
      }
      if (same_word(word, "begin") && same_word(take_word(line), "triggerblock")) {
        // This is the date of the header, unless the file was made before the measurement started.
        if (const auto start = parse_asc_date(line)) date = start;
        break;
      }
      if (is_asc_time(word)) break;  // The line is an event.
    }
    has_unknown_date_ = date_line_ > 0 && !date;
    start_ns_ = date.value_or(0);
  }

  bool count_other(const AscEvent& event, LineNotes& notes) const {
    if (same_word(event.first, "base") && event.rest.find("relative") != std::string_view::npos)
      throw LineError{
          event.rest.data(),
          "timestamps absolute: those of a file with relative ones depend on events that are left "
          "out; export the file again with absolute timestamps"};
    notes.unknown_date += has_unknown_date_ && same_word(event.first, "date");
    ++notes.other_lines;
    return false;
  }

  static int64_t seconds_of(std::string_view text, LineNotes& notes) {
    return parse_signed(text, [&](std::string_view digits) { return parse_seconds(digits, notes); });
  }

  // Only an x makes an ID extended, however many digits it has. An ID that does not fit in 11 bits is
  // extended as well.
  uint32_t id_of(const AscEvent& event, LineNotes& notes) const {
    std::string_view text = event.id;
    const bool is_marked = text.ends_with('x') || text.ends_with('X');
    if (is_marked) text.remove_suffix(1);
    const bool is_extended =
        is_marked ||
        (event.kind == AscEvent::xl && (same_word(event.format, "ceff") || same_word(event.format, "feff")));
    const uint32_t id = (decimal_ ? parse_decimal_id(text) : parse_hex_id(text)) & ~kCanExtended;
    notes.unmarked_id += id > 0x7FF && !is_extended;
    return is_extended || id > 0x7FF ? id | kCanExtended : id;
  }

  // Reads a DLC in hex. Some tools write values over 9 in decimal, so two digits are always decimal.
  int64_t dlc_of(std::string_view text) const {
    return parse_byte(text, decimal_ || (text.size() == 2 && text.front() == '1'));
  }

  // Reads "d 8 00 01 ...", "r" or "r 8". Some tools write CAN FD in this form too: "d 9" or "d C" before all
  // of its bytes.
  void take_classic(std::string_view& rest, int64_t width, Frame& frame, LineNotes& notes) const {
    const std::string_view kind = take_word(rest);
    if (same_word(kind, "r")) {
      frame.id |= kCanRemote;
      return;
    }
    if (!same_word(kind, "d")) throw LineError{kind.data(), kAscLine};
    const std::string_view dlc_text = take_word(rest);
    const int64_t dlc = dlc_of(dlc_text);
    frame.length = std::min<int64_t>(dlc, 8);
    const char* const first = rest.data();
    std::string_view bytes = rest;
    take_bytes(rest, frame.length, width, frame);
    if (rest.empty() || !is_byte(rest)) return;
    int64_t count = frame.length;
    for (std::string_view more = rest; is_byte(more); ++count) take_word(more);
    const bool is_fd = (dlc <= 15 && dlc > 8 && count == kLengthOfDlc[static_cast<size_t>(dlc)]) ||
                       (count > 8 && count <= 64 && fmt::format("{}", count) == dlc_text);
    if (!is_fd) {
      ++notes.extra_bytes;
      return;
    }
    if (count > width) throw too_long(first, width);
    frame.length = count;
    take_bytes(bytes, count, width, frame);
    frame.flags |= kFrameFd;
  }

  // Reads "[NAME] BRS ESI DLC LENGTH BYTES DURATION BITS FLAGS" of CANFD or "[NAME] DLC LENGTH BYTES [STUFF]
  // CRC FLAGS" of CANXL. Classic frames may have such lines too; the flags say so. Older lines have no flags.
  void take_with_flags(std::string_view& rest, bool is_xl, std::string_view format, int64_t width,
                       Frame& frame, LineNotes& notes) const {
    std::string_view word = take_word(rest);
    uint8_t fd_flags = 0;
    if (is_xl) {
      std::string_view after = rest;
      const auto dlc = hex_number(word);
      if (!dlc || *dlc > 15 || !is_all_digits(take_word(after))) word = take_word(rest);
    } else {
      if (!is_all_digits(word)) word = take_word(rest);
      fd_flags = word == "1" ? kFrameBrs : 0;
      if (take_word(rest) == "1") fd_flags |= kFrameEsi;
      word = take_word(rest);
    }
    const uint8_t dlc = parse_byte(word, decimal_);
    frame.length = parse_length(take_word(rest), false);
    take_bytes(rest, frame.length, width, frame);
    const bool is_fd_line = !is_xl || same_word(format, "fbff") || same_word(format, "feff");
    take_word(rest);
    if (is_fd_line) take_word(rest);
    const std::optional<uint32_t> flags = hex_number(take_word(rest));
    const bool is_fd = is_fd_line && (!flags || (*flags & kAscFd) != 0);
    if (!is_fd && frame.length > 8)
      throw LineError{rest.data(), "at most 8 bytes, as its flags are those of classic CAN"};
    if (flags ? !is_fd && (*flags & kAscRemote) != 0 : frame.length == 0 && dlc > 0) {
      frame.id |= kCanRemote;
      notes.extra_bytes += frame.length > 0;
      frame.length = 0;
    }
    if (!is_fd) return;
    if (flags && (*flags & kAscBrs) != 0) fd_flags |= kFrameBrs;
    if (flags && (*flags & kAscEsi) != 0) fd_flags |= kFrameEsi;
    frame.flags |= kFrameFd | fd_flags;
  }

  void take_bytes(std::string_view& rest, int64_t count, int64_t width, Frame& frame) const {
    if (count > width) throw too_long(rest.data(), width);
    for (int64_t i = 0; i < count; ++i)
      frame.bytes[static_cast<size_t>(i)] = parse_byte(take_word(rest), decimal_);
  }

  // Whether the next word looks like a byte: two hex digits, or a number.
  bool is_byte(std::string_view rest) const {
    const std::string_view word = take_word(rest);
    if (decimal_) return is_all_digits(word) && word.size() <= 3;
    return word.size() == 2 && hex_digit(word[0]) != kNoDigit && hex_digit(word[1]) != kNoDigit;
  }

  ChannelChoice channels_;
  bool decimal_ = false;
  int64_t start_ns_ = 0;
  int64_t shift_ns_ = 0;  // Offset that makes negative times of a file without a date positive.
  int64_t date_line_ = 0;
  std::string date_;
  bool has_unknown_date_ = false;
};

}  // namespace

std::unique_ptr<CaptureFormat> make_asc(const FormatOptions& options, std::string_view first_lines) {
  return std::make_unique<Asc>(options, first_lines);
}

}  // namespace plimsoll
