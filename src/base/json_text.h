#pragma once

#include <functional>
#include <string_view>

#include "base/json.h"

namespace plimsoll {

/// Gives json.dump(indent), or json.dump() for indent 0, piece by piece to `take`, without holding it.
/// Errors: Json::exception for a text that is not UTF-8, and those of `take`.
void write_json(const Json& json, int indent, const std::function<void(std::string_view)>& take);

}  // namespace plimsoll
