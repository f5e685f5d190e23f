#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// Text of a file, for an error: its first `most` characters, those that do not print as \x00.
std::string shown(std::string_view text, size_t max = 40);

}  // namespace plimsoll
