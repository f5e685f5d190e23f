#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "base/words.h"

namespace plimsoll {

/// Adds a property that Python reads and sets as the name of an enum's value. Errors when setting: those of
/// parse_word().
template <typename Owner, Worded Enum>
void def_word(nanobind::class_<Owner>& owner, const char* name, Enum Owner::*member) {
  owner.def_prop_rw(
      name, [member](const Owner& self) { return std::string(word_of(self.*member)); },
      [member, name](Owner& self, const std::string& word) { self.*member = parse_word<Enum>(word, name); });
}

}  // namespace plimsoll
