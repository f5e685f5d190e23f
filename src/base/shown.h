#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// Returns the start of a file's text for an error message: the first `max` bytes, followed by "..." if there
/// are more. Bytes other than printable ASCII are written as in \x0a.
std::string shown(std::string_view text, size_t max = 40);

}  // namespace plimsoll
