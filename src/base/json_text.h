#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace plimsoll {

/// Returns json.dump(indent); -1 prints on one line. Bytes that are not UTF-8, such as those of some paths
/// and names, become U+FFFD, so it never fails.
std::string json_text(const Json& json, int indent = -1);

/// Prints json_text(json, indent) and a newline on standard output.
void print_json(const Json& json, int indent = -1);

/// Returns whether json.dump() accepts `text`.
bool is_utf8(std::string_view text);

/// Passes json.dump(indent), or json.dump() for indent 0, to `take` in parts, without holding the whole text.
/// Errors: Json::exception for a text that is not UTF-8, and the errors of `take`. Earlier parts have then
/// been passed already.
void write_json(const Json& json, int indent, const std::function<void(std::string_view)>& take);

}  // namespace plimsoll
