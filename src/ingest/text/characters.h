#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace plimsoll {

// Functions for the characters and words of text files. A blank is a space or a tab.

inline constexpr uint8_t kNoDigit = 255;
extern const std::array<uint8_t, 256> kHexDigits;  ///< Value of a hex digit, otherwise kNoDigit.

inline uint8_t hex_digit(char c) {
  return kHexDigits[static_cast<unsigned char>(c)];
}
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
/// Returns the text without the blanks around it.
std::string_view trim(std::string_view text);
/// Removes the first word, up to a blank, from `rest` and returns it. `rest` keeps the text after it without
/// leading blanks. If `rest` begins with a blank, the word is empty.
std::string_view take_word(std::string_view& rest);

}  // namespace plimsoll
