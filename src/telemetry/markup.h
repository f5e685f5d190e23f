#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "memory/vector.h"

namespace plimsoll {

/// HTML or SVG text under construction. Its bytes are entered in the ledger.
using Markup = std::basic_string<char, std::char_traits<char>, LedgerAllocator<char, Tag::output>>;

/// Appends formatted text without escaping. Errors: BudgetExceeded.
template <typename... Args>
void put(Markup& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

/// Escapes the special characters of HTML and XML, including double quotes, for text outside tags and in
/// attributes with double quotes. Control characters other than tab and newline become U+FFFD. `text` is
/// UTF-8; this is not checked.
inline std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\t':
      case '\n':
        result += letter;
        break;
      default:
        if (static_cast<unsigned char>(letter) < 0x20)
          result += "\xEF\xBF\xBD";
        else
          result += letter;
    }
  }
  return result;
}

}  // namespace plimsoll
