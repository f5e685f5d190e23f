#include "can/capture/asc_event.h"

#include <array>

#include "can/frames/frames.h"
#include "ingest/text/characters.h"

namespace plimsoll {
namespace {

// Whether a word is a direction. If so, sets the flags of `event`.
bool take_direction(std::string_view word, AscEvent& event) {
  event.flags = same_word(word, "tx") ? kFrameSent : 0;
  return event.flags != 0 || same_word(word, "rx");
}

AscEvent::Kind kind_of(std::string_view& rest, AscEvent& event) {
  const std::string_view second = take_word(rest);
  if (is_all_digits(second)) {
    event.channel = second;
    event.id = take_word(rest);
    if (same_word(event.id, "errorframe")) return AscEvent::error;
    return take_direction(take_word(rest), event) ? AscEvent::classic : AscEvent::other;
  }
  const bool is_xl = same_word(second, "canxl");
  if (!is_xl && !same_word(second, "canfd")) return AscEvent::other;
  event.layout = second;
  event.channel = take_word(rest);
  if (!take_direction(take_word(rest), event)) return AscEvent::other;
  if (is_xl) {
    event.format = take_word(rest);
    take_word(rest);  // Skips the duration.
    take_word(rest);  // Skips the number of bits.
  }
  event.id = take_word(rest);
  if (same_word(event.id, "errorframe") || same_word(event.format, "errorframe")) return AscEvent::error;
  return is_xl ? AscEvent::xl : AscEvent::fd;
}

}  // namespace

bool is_asc_time(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && is_digit(word.front());
}

AscEvent AscEvent::parse(std::string_view line) {
  AscEvent event;
  event.rest = trim(line);
  event.first = take_word(event.rest);
  if (!is_asc_time(event.first)) return event;
  std::string_view rest = event.rest;
  event.kind = kind_of(rest, event);
  if (event.kind != AscEvent::other) event.rest = rest;
  return event;
}

bool AscEvent::has_other_frame() const {
  return std::ranges::any_of(std::array{"cbff", "ceff", "fbff", "feff"},
                             [&](const char* word) { return same_word(format, word); });
}

}  // namespace plimsoll
