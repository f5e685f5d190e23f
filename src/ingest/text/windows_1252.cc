#include "ingest/text/windows_1252.h"

#include <array>
#include <cstdint>

#include "base/json_text.h"

namespace plimsoll {
namespace {

// The characters of the bytes 0x80 to 0x9F; all other bytes are Latin-1. Source: unicode.org,
// VENDORS/MICSFT/WINDOWS/CP1252.TXT.
constexpr uint16_t kNoCharacter = 0xFFFD;
constexpr std::array<uint16_t, 32> kFrom80 = {
    0x20AC,       kNoCharacter, 0x201A, 0x0192, 0x201E, 0x2026,       0x2020, 0x2021,
    0x02C6,       0x2030,       0x0160, 0x2039, 0x0152, kNoCharacter, 0x017D, kNoCharacter,
    kNoCharacter, 0x2018,       0x2019, 0x201C, 0x201D, 0x2022,       0x2013, 0x2014,
    0x02DC,       0x2122,       0x0161, 0x203A, 0x0153, kNoCharacter, 0x017E, 0x0178};

void append_utf8(uint32_t character, std::string& text) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80) return add(character);
  if (character < 0x800) {
    add(0xC0 | character >> 6);
  } else {
    add(0xE0 | character >> 12);
    add(0x80 | (character >> 6 & 0x3F));
  }
  add(0x80 | (character & 0x3F));
}

}  // namespace

std::string utf8_of(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string decoded;
  for (const char c : text) {
    const uint32_t byte = static_cast<unsigned char>(c);
    append_utf8(byte >= 0x80 && byte < 0xA0 ? kFrom80.at(byte - 0x80) : byte, decoded);
  }
  return decoded;
}

}  // namespace plimsoll
