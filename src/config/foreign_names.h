#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// What to write here for a name that other systems use (KD-GAT, Lightning), in plain words; empty if it is
/// not known. `name` is a key with its sections (`training.lr`), a section (`dqn`), or an option of the
/// command line without its dashes (`teacher-path`); `value` is what it was set to, for names whose answer
/// depends on it. docs/from-kdgat.md has the whole table.
std::string_view instead_of(std::string_view name, std::string_view value = {});

/// The keys of a recipe that are called so, with or without their section, joined by " or "; empty if there
/// are none. Those of teachers are left out.
std::string keys_called(std::string_view name);

}  // namespace plimsoll
