#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// Returns the text in UTF-8: unchanged if it is already UTF-8, otherwise decoded from Windows code page
/// 1252, which tools by Vector and others use for DBC and ASC files. The five bytes that this code page does
/// not define become U+FFFD.
std::string utf8_of(std::string_view text);

}  // namespace plimsoll
