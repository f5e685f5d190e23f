#pragma once

#include <string>

#include "base/json.h"
#include "config/yaml.h"
#include "io/location.h"

namespace plimsoll {

/// Returns the map in a RelBench manifest, or an empty map for an empty file. Errors: InputError with file,
/// line and column; Failure; those of find_object().
YAML::Node load_yaml_map(const Location& file);
/// Returns the text under `key` of a map; "" if it is null or missing. `where` is for messages. Errors:
/// InputError.
std::string yaml_text(const YAML::Node& node, const char* key, const std::string& where);
/// Converts any value to JSON. Scalars become whole numbers if possible, otherwise texts. `where` is for
/// messages. Errors: InputError for more than 16 levels or 100,000 values, because an anchor may stand for a
/// map that contains the anchor.
Json yaml_json(const YAML::Node& node, const std::string& where);

}  // namespace plimsoll
