#include "ingest/write/calendar.h"

#include <fmt/format.h>

namespace plimsoll {

std::string asc_date(int64_t time_ns) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const CalendarTime time(time_ns);
  return fmt::format("{} {} {:02} {:02}:{:02}:{:02}.{:03} {}", kDays[time.weekday], kMonths[time.month - 1],
                     time.day, time.hour, time.minute, time.second, time.millisecond, time.year);
}

std::string trc_days(int64_t time_ns) {
  constexpr int64_t kDay = 86'400'000;
  constexpr int64_t kEpoch = 25'569;  // 1970-01-01
  const int64_t ms = time_ns / 1'000'000;
  __extension__ using Wide = unsigned __int128;
  const auto part = static_cast<int64_t>((static_cast<Wide>(ms % kDay) * 1'000'000'000'000'000 + kDay / 2) /
                                         static_cast<uint64_t>(kDay));
  return fmt::format("{}.{:015}", kEpoch + ms / kDay, part);
}

}  // namespace plimsoll
