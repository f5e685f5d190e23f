#pragma once

#include <string_view>

#include "can/capture/fields.h"

namespace plimsoll {

/// Removes the next field from a row of a tool's CSV and returns it without the blanks around it. `rest` is a
/// null view after the last field; the next call then throws LineError with a null place, so call it within
/// parse_row().
inline std::string_view take_field(std::string_view& rest, const char* expected, char separator = ',') {
  if (rest.data() == nullptr) throw LineError{nullptr, expected};
  const size_t end = rest.find(separator);
  const std::string_view field = trim(rest.substr(0, end));
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return field;
}

/// Runs `parse` and returns its result. A LineError without a place, as of a row that ends too soon, is
/// thrown on with the place of the row's end.
template <typename Parse>
bool parse_row(std::string_view line, Parse&& parse) {
  try {
    return parse();
  } catch (const LineError& wrong) {
    if (wrong.at != nullptr) throw;
    throw LineError{line.data() + line.size(), wrong.expected, wrong.is_too_long};
  }
}

}  // namespace plimsoll
