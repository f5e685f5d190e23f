#pragma once

#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

/// A name that another system uses. An entry for a certain value must precede the entry for any value.
struct ForeignName {
  std::string_view name;   // The last part of a key, or a section followed by a dot.
  std::string_view value;  // Empty for any value.
  std::string_view instead;
  /// The key of a recipe that means the same and takes the value as it is, or "key=value"; empty: none.
  std::string_view becomes = {};
};

/// Adds names, which take precedence over those of the engine. If several spans have a name, the first one
/// that was added decides. The span must stay valid; adding the same span again moves it to the end. Programs
/// call it when they start. Not thread-safe.
void register_foreign_names(std::span<const ForeignName> names);

/// Returns, in plain words, what to write instead of a name that another system (KD-GAT, Lightning) uses;
/// empty if the name is unknown. `name` is a key with its section (`training.lr`), a section (`dqn`), or a
/// command-line option without its dashes (`teacher-path`). `value` is the value of that key or option,
/// because some answers depend on it. docs/from-kdgat.md has the whole table.
std::string_view instead_of(std::string_view name, std::string_view value = {});

/// Returns what a name becomes in a recipe: "training.learning_rate", a key that takes the value as it is, or
/// "task=autoencoder"; empty: nothing. The arguments are those of instead_of(); a whole key such as
/// "kd.alpha" comes before its section.
std::string_view becomes_in_recipe(std::string_view name, std::string_view value);

/// Returns the keys of a recipe that have this name, given with or without a section, joined by " or "; empty
/// if there are none. Keys of a section that repeats another section are left out.
std::string keys_called(std::string_view name);

}  // namespace plimsoll
