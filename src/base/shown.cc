#include "base/shown.h"

#include <fmt/format.h>

namespace plimsoll {

std::string shown(std::string_view text, size_t max) {
  std::string result;
  for (const char c : text.substr(0, max)) {
    if (c >= ' ' && c < 127)
      result += c;
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > max ? result + "..." : result;
}

}  // namespace plimsoll
