#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// Returns the text in UTF-8: unchanged if it is UTF-8 already, otherwise decoded as Windows code page 1252,
/// in which tools of Vector and others write DBC and ASC files. The five bytes that it does not define become
/// U+FFFD.
std::string utf8_of(std::string_view text);

}  // namespace plimsoll
