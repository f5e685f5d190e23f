#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// Returns, in plain words, what to write instead of a name that other systems use (KD-GAT, Lightning); empty
/// if the name is unknown. `name` is a key with its section (`training.lr`), a section (`dqn`), or a
/// command-line option without its dashes (`teacher-path`). `value` is its value, for names for which the
/// answer depends on it. docs/from-kdgat.md has the whole table.
std::string_view instead_of(std::string_view name, std::string_view value = {});

/// Returns the keys of a recipe that have this name, with or without their section, joined by " or "; empty
/// if there are none. Keys of teachers are left out.
std::string keys_called(std::string_view name);

}  // namespace plimsoll
