#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plimsoll {

/// Parses a date of UTC such as "2024-12-31", which may be followed by a blank or T and a time of day such as
/// "23:59:59". Fields are read as by strptime(3), so leading zeros may be missing. Returns nanoseconds since
/// 1970-01-01, limited to the range of int64, the years 1677 to 2262; nullopt for any other text.
std::optional<int64_t> parse_timestamp(const std::string& text);

}  // namespace plimsoll
