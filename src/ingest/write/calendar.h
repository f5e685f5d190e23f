#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace plimsoll {

/// A whole millisecond as headers of captures write it, in UTC.
struct CalendarTime {
  int year, month, day, hour, minute, second, millisecond;
  int weekday;  ///< 0: Sunday

  explicit CalendarTime(int64_t time_ns) {
    constexpr int64_t kDay = 86'400'000;
    const int64_t ms = time_ns / 1'000'000;
    const std::chrono::sys_days date{std::chrono::days(ms / kDay)};
    const std::chrono::year_month_day parts{date};
    year = int{parts.year()};
    month = static_cast<int>(unsigned{parts.month()});
    day = static_cast<int>(unsigned{parts.day()});
    weekday = static_cast<int>(std::chrono::weekday(date).c_encoding());
    const auto rest = static_cast<int>(ms % kDay);
    hour = rest / 3'600'000;
    minute = rest / 60'000 % 60;
    second = rest / 1000 % 60;
    millisecond = rest % 1000;
  }
};

/// "Sat Sep 30 15:06:13.191 2017"
std::string asc_date(int64_t time_ns);
/// Days since 1899-12-30, "43008.629318182870370", exact to the millisecond.
std::string trc_days(int64_t time_ns);

}  // namespace plimsoll
