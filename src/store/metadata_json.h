#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"
#include "store/safetensors.h"

namespace plimsoll {

/// Parses the JSON under a key of a file's metadata. Errors: InputError that names the file and the key if
/// the key is missing, its text is not JSON, or it exceeds JsonLimits.
Json metadata_json(const SafetensorsView& file, const std::string& key);

/// Returns the result of `read` for that JSON. Errors: those of metadata_json(). A Json::exception or
/// UsageError of `read` becomes an InputError.
template <typename Read>
auto read_metadata(const SafetensorsView& file, const std::string& key, const Read& read) {
  const auto wrong = [&](const std::exception& error) {
    return InputError(file.path() + ": metadata '" + key + "': " + error.what());
  };
  const Json json = metadata_json(file, key);
  try {
    return read(json);
  } catch (const Json::exception& error) {
    throw wrong(error);
  } catch (const UsageError& error) {
    throw wrong(error);
  }
}

}  // namespace plimsoll
