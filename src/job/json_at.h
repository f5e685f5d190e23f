#pragma once

#include "base/json.h"

namespace plimsoll {

/// Returns the number at a path of names, such as "/reading/waited_s"; 0 if there is none.
inline double number_at(const Json& json, const char* path) {
  const Json::json_pointer pointer(path);
  return json.contains(pointer) && json.at(pointer).is_number() ? json.at(pointer).get<double>() : 0;
}

/// Returns number_at() as a whole number.
inline int64_t bytes_at(const Json& json, const char* path) {
  return static_cast<int64_t>(number_at(json, path));
}

/// Returns the value at a path of names; null if there is none.
inline Json at_or_null(const Json& json, const char* path) {
  const Json::json_pointer pointer(path);
  return json.contains(pointer) ? json.at(pointer) : Json();
}

}  // namespace plimsoll
