#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// The text in UTF-8: unchanged if it is UTF-8 already, else decoded as Windows code page 1252, in which
/// tools of Vector and others write DBC and ASC files. Its five bytes without a character become U+FFFD.
std::string utf8_of(std::string_view text);

}  // namespace plimsoll
