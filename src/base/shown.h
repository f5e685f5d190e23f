#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// Returns the start of a file's text for an error message: the first `max` characters, with unprintable ones
/// as \x00.
std::string shown(std::string_view text, size_t max = 40);

}  // namespace plimsoll
