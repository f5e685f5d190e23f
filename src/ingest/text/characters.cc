#include "ingest/text/characters.h"

namespace plimsoll {
namespace {

constexpr std::array<uint8_t, 256> make_hex_digits() {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (unsigned i = 0; i < 10; ++i) digits['0' + i] = static_cast<uint8_t>(i);
  for (unsigned i = 0; i < 6; ++i) digits['a' + i] = digits['A' + i] = static_cast<uint8_t>(10 + i);
  return digits;
}

}  // namespace

const std::array<uint8_t, 256> kHexDigits = make_hex_digits();

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view take_word(std::string_view& rest) {
  size_t end = 0;
  while (end < rest.size() && !is_blank(rest[end])) ++end;
  const std::string_view word = rest.substr(0, end);
  while (end < rest.size() && is_blank(rest[end])) ++end;
  rest.remove_prefix(end);
  return word;
}

}  // namespace plimsoll
