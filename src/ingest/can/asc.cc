#include <array>
#include <chrono>
#include <utility>

#include "ingest/can/channel_choice.h"
#include "ingest/can/formats.h"

namespace plimsoll {
namespace {

constexpr const char* kAscLine = "SECONDS CHANNEL ID Rx d LENGTH BYTES, as in Vector's ASC";

bool same_word(std::string_view word, std::string_view lower) {
  return word.size() == lower.size() &&
         std::equal(word.begin(), word.end(), lower.begin(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

bool is_all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

class Asc : public CaptureFormat {
 public:
  Asc(const FormatOptions& options, std::string_view first_lines) : channels_(options) {
    while (!first_lines.empty()) {
      std::string_view line = trim(cut_line(first_lines));
      const std::string_view word = take_word(line);
      if (same_word(word, "base")) decimal_ = same_word(take_word(line), "dec");
      if (same_word(word, "date")) start_ns_ = date_of(line);
      if (same_word(word, "begin") && same_word(take_word(line), "triggerblock")) {
        // The same date, unless the file was made before the measurement started.
        if (const int64_t start_ns = date_of(line); start_ns > 0) start_ns_ = start_ns;
        break;
      }
      if (!word.empty() && is_digit(word.front())) break;  // an event
    }
  }

  std::string name() const override { return "asc"; }
  bool labelled() const override { return false; }

  bool parse(std::string_view line, bool, FrameBatch& out, LineNotes& notes) const override {
    const Event event = event_of(line);
    if (event.kind == Event::xl) throw Wrong{event.rest.data(), kNoXl};
    if (event.kind == Event::other) {
      if (same_word(event.first, "base") && event.rest.find("relative") != std::string_view::npos)
        throw Wrong{
            event.rest.data(),
            "timestamps absolute: those of a file with relative ones depend on events that are left out; "
            "export it again with absolute timestamps"};
      ++notes.other_lines;
      return false;
    }
    const int64_t since_start = parse_seconds(event.first, notes);
    if (since_start > kMostTime - start_ns_) throw Wrong{event.first.data(), "a time before the year 2255"};
    const int64_t time_ns = start_ns_ + since_start;
    if (!channels_.takes(event.channel, notes)) return false;
    std::string_view rest = event.rest;
    if (event.kind == Event::error) {
      append_unlabelled(time_ns, kCanError, nullptr, 0, out);
      out.set_flags(event.flags);
      set_channel(event.channel, out);
      return true;
    }
    uint32_t id = id_of(event.id);
    std::array<uint8_t, 64> bytes{};
    uint8_t fd_flags = 0;
    const int64_t length = event.kind == Event::fd ? fd_bytes(rest, id, out.width, bytes, fd_flags)
                                                   : classic_bytes(rest, id, out.width, bytes);
    append_unlabelled(time_ns, id, bytes.data(), length, out);
    out.set_flags(event.flags | fd_flags);
    set_channel(event.channel, out);
    return true;
  }

 private:
  // What a line says, as far as it tells whether it is a frame.
  struct Event {
    enum Kind { other, classic, fd, xl, error } kind = other;
    std::string_view first;  // the time, or the word at the start of another line
    std::string_view channel;
    std::string_view id;
    std::string_view rest;
    uint8_t flags = 0;  // its direction
  };

  // Whether a word is a direction, which `event` gets.
  static bool take_direction(std::string_view word, Event& event) {
    event.flags = same_word(word, "tx") ? kFrameSent : 0;
    return event.flags != 0 || same_word(word, "rx");
  }

  static Event event_of(std::string_view line) {
    Event event;
    event.rest = trim(line);
    event.first = take_word(event.rest);
    if (event.first.empty() || !is_digit(event.first.front())) return event;
    std::string_view rest = event.rest;
    const std::string_view second = take_word(rest);
    if (same_word(second, "canfd")) {
      event.channel = take_word(rest);
      if (!take_direction(take_word(rest), event)) return event;
      event.id = take_word(rest);
      event.kind = same_word(event.id, "errorframe") ? Event::error : Event::fd;
    } else if (same_word(second, "canxl")) {
      event.kind = Event::xl;
      return event;
    } else if (is_all_digits(second)) {
      event.channel = second;
      event.id = take_word(rest);
      const bool is_error = same_word(event.id, "errorframe");
      if (!is_error && !take_direction(take_word(rest), event)) return event;
      event.kind = is_error ? Event::error : Event::classic;
    } else {
      return event;
    }
    event.rest = rest;
    return event;
  }

  uint32_t id_of(std::string_view text) const {
    const bool extended = text.ends_with('x') || text.ends_with('X');
    if (extended) text.remove_suffix(1);
    const uint32_t id = decimal_ ? parse_decimal_id(text) : parse_hex_id(text);
    return extended ? id | kCanExtended : id;
  }

  // "d 8 00 01 ...", "r", "r 8"
  int64_t classic_bytes(std::string_view& rest, uint32_t& id, int64_t width,
                        std::array<uint8_t, 64>& bytes) const {
    const std::string_view kind = take_word(rest);
    if (same_word(kind, "r")) {
      id |= kCanRemote;
      return 0;
    }
    if (!same_word(kind, "d")) throw Wrong{kind.data(), kAscLine};
    return take_bytes(rest, std::min<int64_t>(parse_byte(take_word(rest), decimal_), 8), width, bytes);
  }

  // "[NAME] BRS ESI DLC LENGTH BYTES": a name stands where BRS is no digit
  int64_t fd_bytes(std::string_view& rest, uint32_t& id, int64_t width, std::array<uint8_t, 64>& bytes,
                   uint8_t& flags) const {
    std::string_view brs = take_word(rest);
    if (!is_all_digits(brs)) brs = take_word(rest);
    const std::string_view esi = take_word(rest);
    flags = kFrameFd | (brs == "1" ? kFrameBrs : 0) | (esi == "1" ? kFrameEsi : 0);
    const uint8_t dlc = parse_byte(take_word(rest), decimal_);
    const std::string_view length = take_word(rest);
    const int64_t count = parse_length(length, false);
    if (count == 0 && dlc > 0) id |= kCanRemote;
    return take_bytes(rest, count, width, bytes);
  }

  int64_t take_bytes(std::string_view& rest, int64_t count, int64_t width,
                     std::array<uint8_t, 64>& bytes) const {
    if (count > width) throw too_long(rest.data(), width);
    for (int64_t i = 0; i < count; ++i) bytes[static_cast<size_t>(i)] = parse_byte(take_word(rest), decimal_);
    return count;
  }

  static constexpr int64_t kMostTime = 9'000'000'000'000'000'000;

  // "Sat Sep 30 15:06:13.191 2017", "Sat Sep 30 03:06:13.191 pm 2017", read as UTC; 0 where it is none.
  static int64_t date_of(std::string_view text) {
    static constexpr std::array<std::string_view, 16> kMonths = {
        "jan", "feb", "mar", "apr", "may",        "jun", "jul", "aug",
        "sep", "oct", "nov", "dec", "m\xC3\xA4r", "mai", "okt", "dez"};
    static constexpr std::array<unsigned, 16> kNumbers = {1, 2,  3,  4,  5, 6, 7,  8,
                                                          9, 10, 11, 12, 3, 5, 10, 12};
    take_word(text);  // the day of the week
    const std::string_view month = take_word(text);
    const auto* const known =
        std::ranges::find_if(kMonths, [&](std::string_view name) { return same_word(month, name); });
    const int64_t day = whole_number(take_word(text));
    const std::string_view time = take_word(text);
    std::string_view half = take_word(text);
    const std::string_view year = text.empty() ? std::exchange(half, {}) : take_word(text);
    if (known == kMonths.end() || time.empty()) return 0;
    const std::chrono::year_month_day date{
        std::chrono::year(static_cast<int>(whole_number(year))),
        std::chrono::month(kNumbers[static_cast<size_t>(known - kMonths.begin())]),
        std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok() || date.year() < std::chrono::year(1970) || date.year() > std::chrono::year(2255))
      return 0;
    int64_t time_ns = 0;
    try {
      time_ns = parse_time_of_day(time);
    } catch (const Wrong&) {
      return 0;
    }
    constexpr int64_t kHour = 3'600'000'000'000;
    if (same_word(half, "pm") && time_ns < 12 * kHour) time_ns += 12 * kHour;
    if (same_word(half, "am") && time_ns >= 12 * kHour) time_ns -= 12 * kHour;
    return std::chrono::sys_days(date).time_since_epoch().count() * 24 * kHour + time_ns;
  }
  static int64_t whole_number(std::string_view text) {
    if (!is_all_digits(text) || text.size() > 4) return 0;
    int64_t number = 0;
    for (const char c : text) number = number * 10 + (c - '0');
    return number;
  }

  ChannelChoice channels_;
  bool decimal_ = false;
  int64_t start_ns_ = 0;
};

}  // namespace

std::unique_ptr<CaptureFormat> make_asc(const FormatOptions& options, std::string_view first_lines) {
  return std::make_unique<Asc>(options, first_lines);
}

}  // namespace plimsoll
