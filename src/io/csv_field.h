#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// A field of RFC 4180: the text, in quotes where it needs them.
std::string csv_field(std::string_view text);

}  // namespace plimsoll
