#pragma once

// The one place where nlohmann-json enters. ordered_json keeps keys as written: manifests are the same bytes
// each time.
#include <nlohmann/json.hpp>

namespace plimsoll {
using Json = nlohmann::ordered_json;
}  // namespace plimsoll
