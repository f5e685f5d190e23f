#pragma once

#include <fmt/format.h>

#include "base/words.h"

/// Prints an enum value as its text in the enum's table of words.
template <plimsoll::Worded Enum>
struct fmt::formatter<Enum, char> : fmt::formatter<std::string_view, char> {
  auto format(Enum value, fmt::format_context& context) const {
    return fmt::formatter<std::string_view, char>::format(plimsoll::word_of(value), context);
  }
};
