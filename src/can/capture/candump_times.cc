#include "can/capture/candump_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "can/capture/channel_choice.h"

namespace plimsoll {
namespace {

// Counts how the times of the lines follow each other.
struct Steps {
  int64_t lines = 0;
  int64_t back = 0;
  int64_t same = 0;
  // The first time has three digits before the point, as -t d and -t z write it; -L writes ten.
  bool padded = false;
  int64_t previous = 0;

  void take(std::string_view text) {
    LineNotes notes;
    const int64_t time_ns = parse_seconds(text, notes);
    if (lines++ == 0) {
      padded = text.size() > 4 && text[0] == '0' && text.find('.') == 3;
    } else {
      back += time_ns < previous;
      same += time_ns == previous;
    }
    previous = time_ns;
  }
};

constexpr int64_t kEnough = 8;  // Minimum number of lines that distinguish elapsed times from differences.

CandumpTimes times_of(const Steps& steps) {
  const int64_t pairs = steps.lines - 1;
  if (!steps.padded) return {};
  const bool never_grows = pairs > 2 && steps.same >= pairs - 1 && steps.previous > 0;
  if (4 * steps.back >= pairs && steps.back > 0)
    return {
        CandumpTimes::differences,
        fmt::format(" times run back in {} of the first {} lines: they are read as differences, as candump "
                    "-t d writes them; --time s reads them as they are",
                    steps.back, steps.lines)};
  if (never_grows)
    return {CandumpTimes::differences,
            " times stay the same: they are read as differences, as candump -t d writes them; --time s reads "
            "them as they are"};
  if (pairs < kEnough)
    return {CandumpTimes::absolute,
            " times are read as those since the first frame (candump -t z); if each is since the line before "
            "(-t d), give --time delta"};
  return {};
}

}  // namespace

CandumpTimes CandumpTimes::detect(const FormatOptions& options, std::string_view first_lines) {
  Steps steps;
  bool has_untimed = false;
  while (!first_lines.empty()) {
    std::string_view line = take_line(first_lines);
    std::string plain;
    if (line.find('\x1b') != std::string_view::npos) line = plain = without_colours(line);
    line = trim(line);
    if (line.empty() || is_other_candump_line(line)) continue;
    const size_t end = line.find(')');
    if (line.front() != '(' || end == std::string_view::npos) {
      has_untimed = true;
      continue;
    }
    try {
      steps.take(line.substr(1, end - 1));
    } catch (const LineError&) {
      // The line has a date or is bad.
      steps.lines += steps.lines == 0;
    }
  }
  if (steps.lines == 0 && has_untimed) return {none};
  if (options.time == TimeUnit::delta) return {differences};
  if (options.time) return {};
  return times_of(steps);
}

bool is_other_candump_line(std::string_view line) {
  // Source: snprintf_can_error_frame() in lib.c of can-utils.
  static constexpr std::string_view kDetails[] = {"tx-timeout",
                                                  "lost-arbitration",
                                                  "controller-problem",
                                                  "protocol-violation",
                                                  "transceiver-status",
                                                  "no-acknowledgement-on-tx",
                                                  "bus-off",
                                                  "bus-error",
                                                  "restarted-after-bus-off",
                                                  "error-counter-tx-rx"};
  line = trim(line);
  if (line.starts_with('#') || line.starts_with("DROPCOUNT:")) return true;
  const std::string_view name = line.substr(0, line.find_first_of("{ ,"));
  return std::ranges::find(kDetails, name) != std::end(kDetails);
}

std::string without_colours(std::string_view line) {
  std::string plain;
  while (!line.empty()) {
    const size_t escape = line.find("\x1b[");
    plain += line.substr(0, escape);
    if (escape == std::string_view::npos) break;
    // A colour is ESC [ numbers m. Anything else is text, such as the name of a channel.
    const size_t end = line.find_first_not_of("0123456789;", escape + 2);
    const bool is_colour = end != std::string_view::npos && line[end] == 'm';
    if (!is_colour) plain += "\x1b[";
    line.remove_prefix(is_colour ? end + 1 : escape + 2);
  }
  return plain;
}

}  // namespace plimsoll
