#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll {

/// Parses a date as Vector's tools write it in the language of the system, read as UTC: "Sat Sep 30
/// 03:06:13.191 pm 2017", "Mo Mär 7 13:21:51.500 2022", "lun. 7 mars 2022 13:21:51". Months may be in
/// English, German, French, Spanish, Italian or Portuguese, short or long, in UTF-8 or cp1252, or numbers:
/// "07.03.2022" and "2022-03-07". Returns nanoseconds since 1970; none if the text is not a date from 1970 to
/// 2254 with a time of day.
std::optional<int64_t> parse_asc_date(std::string_view text);

}  // namespace plimsoll
