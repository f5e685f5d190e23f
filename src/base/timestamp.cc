#include "base/timestamp.h"

#include <algorithm>
#include <ctime>
#include <limits>

namespace plimsoll {

std::optional<int64_t> parse_timestamp(const std::string& text) {
  std::tm time{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%d", &time);
  if (rest != nullptr && (*rest == ' ' || *rest == 'T')) rest = strptime(rest + 1, "%H:%M:%S", &time);
  std::tm normal = time;
  const int64_t seconds = timegm(&normal);
  // Detects invalid dates: timegm() turns 31 February into 2 March.
  if (rest == nullptr || *rest != '\0' || normal.tm_mday != time.tm_mday) return std::nullopt;
  constexpr int64_t kNanoseconds = 1'000'000'000;
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  return seconds > kLast / kNanoseconds ? kLast : std::max(seconds, -kLast / kNanoseconds) * kNanoseconds;
}

}  // namespace plimsoll
