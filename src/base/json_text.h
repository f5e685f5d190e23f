#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace plimsoll {

/// json.dump(indent), on one line for -1. Paths and names may be any bytes: those that are not UTF-8 become
/// U+FFFD, so that it never fails.
std::string json_text(const Json& json, int indent = -1);

/// A line, or with an indent lines, of JSON on standard output, as json_text() gives them.
void print_json(const Json& json, int indent = -1);

/// Whether json.dump() takes a text.
bool is_utf8(std::string_view text);

/// Gives json.dump(indent), or json.dump() for indent 0, piece by piece to `take`, without holding it.
/// Errors: Json::exception for a text that is not UTF-8, and those of `take`.
void write_json(const Json& json, int indent, const std::function<void(std::string_view)>& take);

}  // namespace plimsoll
