#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// Returns `text` as a field of RFC 4180, in quotes if needed.
std::string csv_field(std::string_view text);

}  // namespace plimsoll
