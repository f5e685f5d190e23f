#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "config/yaml.h"

namespace plimsoll {

/// Returns the map in a manifest of RelBench. Errors: InputError with file, line and column.
YAML::Node load_yaml_map(const std::filesystem::path& path);
/// Returns a text of a map, or "" for null or nothing. `where` is for messages. Errors: InputError.
std::string yaml_text(const YAML::Node& node, const char* key, const std::string& where);
/// Returns any value: scalars as whole numbers, or else as texts. `where` is for messages. Errors: InputError
/// for a value that is too deep or too large, as an anchor may stand for a map that contains it.
Json yaml_json(const YAML::Node& node, const std::string& where);

}  // namespace plimsoll
