#pragma once

// The one place where nlohmann-json enters. ordered_json keeps keys as written: manifests are the same bytes
// each time.
#include <nlohmann/json.hpp>
#include <string_view>

namespace plimsoll {
using Json = nlohmann::ordered_json;

/// The JSON in a file's text. Discarded (Json::is_discarded) when it is none, or nested deeper than 100
/// levels: copying, comparing and printing go down level by level on the stack.
inline Json parse_json(std::string_view text) {
  constexpr int kDeepest = 100;
  bool too_deep = false;
  const auto keep = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > kDeepest;
    return !too_deep;
  };
  Json json = Json::parse(text, keep, false);
  return too_deep ? Json(Json::value_t::discarded) : json;
}
}  // namespace plimsoll
