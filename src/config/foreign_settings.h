#pragma once

#include <string>
#include <vector>

#include "config/key_values.h"

namespace plimsoll {

/// A setting of another system: its key with sections, such as "training.lr", its value, and where it is.
struct ForeignSetting {
  std::string key;
  Written value;
};

/// Returns the settings of a text in YAML or JSON. `name` is for the places in the text. A list of one value
/// counts as a single value. A value that is neither a single value nor a list of them has no text. Errors:
/// UsageError with file, line and column: not YAML, no map, or more than 10,000 settings.
std::vector<ForeignSetting> settings_of_yaml(const std::string& text, const std::string& name);

/// Returns the assignments of a shell script, such as `export BATCH_SIZE=4`, with keys in lower case. Values
/// that the shell would compute keep their text.
std::vector<ForeignSetting> settings_of_shell(const std::string& text, const std::string& name);

}  // namespace plimsoll
