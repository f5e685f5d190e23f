#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>

namespace plimsoll {

// Converts between numbers and text with a decimal point, whatever the locale. std::stod and streams follow
// the locale of the program that loads the library.

/// Parses all of `text` as a finite number. Blanks are not allowed; one leading plus sign is. Returns nullopt
/// if `text` is not such a number or T cannot represent it.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc() || stop != end || !std::isfinite(static_cast<double>(value))) return std::nullopt;
  return value;
}

/// Returns the double that has the fewest decimal digits and converts back to `value`, such as 0.1 for 0.1F.
inline double shortest_double(float value) {
  std::array<char, 32> digits;
  const auto [end, failed] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  double found = 0;
  std::from_chars(digits.data(), end, found);
  return found;
}

}  // namespace plimsoll
