#pragma once

#include <string>
#include <vector>

namespace plimsoll {

/// A configuration of another system (KD-GAT, Lightning, a shell script) as a recipe.
struct ImportedConfig {
  std::string recipe;  ///< YAML of the keys that the configuration sets.
  /// "FILE:3:5: training.lr becomes training.learning_rate: 0.003", in the order of the configuration.
  std::vector<std::string> taken;
  /// "FILE:4:5: training.safety_factor: WHY", with what to write instead, if anything.
  std::vector<std::string> dropped;
};

/// Converts a configuration by the table of foreign names (config/foreign_names.h). A `name` that ends in .sh
/// is a shell script, whose assignments (BATCH_SIZE=4) are read and nothing is run; other texts are YAML, or
/// JSON. `overrides` are settings "key=value" of recipes that replace those of the configuration. Errors:
/// UsageError with file, line and column: not YAML; two settings that would give one key different values; an
/// override of an unknown key; values that do not go together.
ImportedConfig import_config(const std::string& text, const std::string& name,
                             const std::vector<std::string>& overrides);

}  // namespace plimsoll
