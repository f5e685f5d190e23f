#include "base/json.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"

namespace plimsoll {

int64_t whole_number(const Json& json) {
  // Compared as uint64_t: nlohmann-json would compare an unsigned number with an int64_t as signed numbers.
  constexpr auto kMaxWhole = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<uint64_t>() > kMaxWhole))
    throw UsageError(fmt::format("found {}, expected a whole number",
                                 json.is_number() || json.is_boolean() ? json.dump() : json.type_name()));
  return json.get<int64_t>();
}

std::vector<int64_t> whole_numbers(const Json& json) {
  if (!json.is_array()) throw UsageError(fmt::format("found {}, expected an array", json.type_name()));
  std::vector<int64_t> numbers;
  numbers.reserve(json.size());
  for (const Json& number : json) numbers.push_back(whole_number(number));
  return numbers;
}

bool JsonLimits::keeps(int depth, Json::parse_event_t event) {
  passed_ |= depth > kDeepest;
  if (passed_) return false;
  const auto at = static_cast<size_t>(depth);
  if (event == Json::parse_event_t::object_start) keys_[at + 1] = 0;
  if (event == Json::parse_event_t::key) passed_ = ++keys_[at] > kMaxKeys;
  return !passed_;
}

Json parse_json(std::string_view text) {
  JsonLimits limits;
  Json json = Json::parse(
      text, [&](int depth, Json::parse_event_t event, Json&) { return limits.keeps(depth, event); }, false);
  return limits.passed() ? Json(Json::value_t::discarded) : json;
}

}  // namespace plimsoll
