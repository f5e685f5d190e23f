#include <fmt/format.h>

#include <array>
#include <optional>

#include "can/capture/channel_choice.h"
#include "can/capture/formats.h"

// Parses the log of BUSMASTER, which SavvyCAN writes as well. Source of the rows: Wireshark's
// wiretap/busmaster_parser.lemon.

namespace plimsoll {
namespace {

constexpr const char* kBusmasterRow = "TIME Rx CHANNEL ID s LENGTH BYTES, as in BUSMASTER's log";
constexpr std::string_view kSessionStart = "***START DATE AND TIME ";
constexpr int64_t kDayNs = 86'400'000'000'000;

class Busmaster : public CaptureFormat {
 public:
  Busmaster(const FormatOptions& options, std::string_view first_lines) : channels_(options) {
    while (!first_lines.empty()) {
      const std::string_view line = trim(take_line(first_lines));
      if (line.starts_with("***DEC***")) decimal_ = true;
      if (line.starts_with("***RELATIVE MODE")) mode_ = Mode::relative;
      if (line.starts_with("***ABSOLUTE MODE")) mode_ = Mode::absolute;
      if (line.starts_with(kSessionStart) && !start_) start_ = start_of(line);
      if (!line.empty() && !line.starts_with("***")) break;
    }
  }

  std::string name() const override { return "busmaster"; }
  bool labelled() const override { return false; }
  bool has_differences() const override { return mode_ == Mode::relative; }
  std::vector<std::string> warnings() const override {
    if (start_) return {};
    return {
        " no date is found, and times count from 1970; the header states it as ***START DATE AND TIME "
        "23:9:2015 22:17:28:928***"};
  }

  bool parse(std::string_view line, bool, FrameBatch& out, LineNotes& notes) const override {
    std::string_view rest = trim(line);
    if (rest.starts_with("***")) return count_header(rest, notes);
    const std::string_view time = take_word(rest);
    const int64_t time_ns = time_of(time, notes);
    const std::string_view direction = take_word(rest);
    if (direction != "Rx" && direction != "Tx") throw LineError{direction.data(), kBusmasterRow};
    const std::string_view channel = take_word(rest);
    if (channel.empty() || !std::ranges::all_of(channel, is_digit))
      throw LineError{channel.data(), kBusmasterRow};
    if (!channels_.should_read(channel, notes)) return false;
    const std::string_view id = take_word(rest);
    const std::string_view type = take_word(rest);
    uint8_t flags = direction == "Tx" ? kFrameSent : 0;
    if (type.starts_with("ERR")) {
      append_unlabelled(time_ns, kCanError, nullptr, 0, out);
    } else {
      const std::string_view length_text = take_word(rest);
      const int64_t length = parse_length(length_text, false);
      if (length > out.width) throw too_long(length_text.data(), out.width);
      const uint32_t can_id = id_of(id, type);
      std::array<uint8_t, 64> bytes{};
      const bool is_remote = (can_id & kCanRemote) != 0;
      for (int64_t i = 0; i < length && !is_remote; ++i)
        bytes[static_cast<size_t>(i)] = parse_byte(take_word(rest), decimal_);
      notes.extra_bytes += !rest.empty();
      append_unlabelled(time_ns, can_id, bytes.data(), is_remote ? 0 : length, out);
      if (type.ends_with("-fd")) flags |= kFrameFd;
    }
    out.set_flags(flags);
    set_channel(channel, out);
    return true;
  }

 private:
  enum class Mode { system, absolute, relative };  // Time of day, since the start, since the frame before.

  bool count_header(std::string_view line, LineNotes& notes) const {
    if (line.starts_with("***PROTOCOL") && !line.starts_with("***PROTOCOL CAN"))
      throw LineError{line.data(), "***PROTOCOL CAN***: only logs of CAN are read; log it as CAN"};
    if (line.starts_with(kSessionStart)) {
      const auto start = start_of(line);
      notes.unknown_date += !start;
      const int64_t step = mode_ == Mode::system ? kDayNs : 1;
      if (start && start_ && *start / step != *start_ / step)
        throw LineError{line.data(), "the date of the first session; split the file before this one"};
    }
    ++notes.other_lines;
    return false;
  }

  int64_t time_of(std::string_view text, LineNotes& notes) const {
    if (text.empty()) throw LineError{text.data(), kBusmasterRow};
    const int64_t read_ns = parse_time_of_day(text);
    const int64_t start_ns = start_.value_or(0);
    if (mode_ == Mode::absolute) return add_times(start_ns, read_ns, text.data());
    if (mode_ == Mode::relative) {
      ++notes.added_time;
      notes.elapsed_ns = add_times(notes.elapsed_ns, read_ns, text.data());
      return add_times(start_ns, notes.elapsed_ns, text.data());
    }
    // A log that began in the evening continues after midnight.
    const bool is_next_day = start_ns % kDayNs - read_ns > kDayNs / 2;
    return start_ns - start_ns % kDayNs + read_ns + (is_next_day ? kDayNs : 0);
  }

  uint32_t id_of(std::string_view text, std::string_view type) const {
    const bool is_extended = type.starts_with('x');
    const std::string_view kind = type.substr(std::min<size_t>(type.size(), 1));
    if ((!is_extended && !type.starts_with('s')) || (!kind.empty() && kind != "r" && kind != "-fd"))
      throw LineError{type.data(), "s, x, sr, xr, s-fd or x-fd"};
    const uint32_t id = (decimal_ ? parse_decimal_id(text) : parse_hex_id(text)) & ~kCanExtended;
    if (id > 0x7FF && !is_extended) throw LineError{text.data(), "an ID of at most 7FF, or x after it"};
    return id | (is_extended ? kCanExtended : 0) | (kind == "r" ? kCanRemote : 0);
  }

  // Parses "***START DATE AND TIME 23:9:2015 22:17:28:928***": day, month, year, and a time of day with
  // milliseconds.
  static std::optional<int64_t> start_of(std::string_view line) {
    line.remove_prefix(kSessionStart.size());
    const std::string_view date = take_word(line);
    const size_t first = date.find(':');
    const size_t second = first == std::string_view::npos ? first : date.find(':', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    const std::string_view year = date.substr(second + 1);
    const std::string text =
        fmt::format("{:0>4}-{:0>2}-{:0>2} {}", year, date.substr(first + 1, second - first - 1),
                    date.substr(0, first), line.substr(0, line.find('*')));
    try {
      return parse_date_and_time(text);
    } catch (const LineError&) {
      return std::nullopt;
    }
  }

  ChannelChoice channels_;
  bool decimal_ = false;
  Mode mode_ = Mode::system;
  std::optional<int64_t> start_;
};

}  // namespace

std::unique_ptr<CaptureFormat> make_busmaster(const FormatOptions& options, std::string_view first_lines) {
  return std::make_unique<Busmaster>(options, first_lines);
}

}  // namespace plimsoll
