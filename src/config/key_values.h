#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "config/checks.h"

namespace plimsoll {

/// A value as it was written, and the place where it was written. A list in a file has `names` and no text.
struct Written {
  std::string text;
  std::string where;
  std::optional<std::vector<std::string>> names = {};
};
/// Written values by key.
using WrittenValues = std::map<std::string, Written>;

inline constexpr auto kFlagWords = std::to_array<std::string_view>({"false", "true"});

// read_value() sets `value` to what was written, if the check allows it. Errors: UsageError with the place,
// the key and what was expected; a list may then have been set in part. A module that adds sections may
// overload read_value() and value_text() for its own types.

void read_value(const std::string& key, std::string& value, Text, const Written& written);
void read_value(const std::string& key, std::string& value, const OneOf& words, const Written& written);
void read_value(const std::string& key, bool& value, Flag, const Written& written);
void read_value(const std::string& key, int64_t& value, const Range& range, const Written& written);
void read_value(const std::string& key, double& value, const Range& range, const Written& written);
void read_value(const std::string& key, AutoOrNumber& value, const AutoOr& range, const Written& written);
void read_value(const std::string& key, std::vector<std::string>& value, Names, const Written& written);
void read_value(const std::string& key, std::vector<int64_t>& value, const EachInRange& numbers,
                const Written& written);

/// Throws UsageError if a list was written for a key that has a single value.
void require_single(const std::string& key, const Written& written);
/// Returns the error for a word that is not one of a key's words.
UsageError wrong_word(const std::string& key, std::span<const std::string_view> words,
                      const Written& written);

/// Replaces an alternative spelling of a word of the enum. An enum with alternative spellings has an overload
/// next to its words.
template <typename Enum>
void translate_word(Enum, std::string&) {}

template <Worded Enum>
void read_value(const std::string& key, Enum& value, Choice<Enum>, Written written) {
  require_single(key, written);
  translate_word(value, written.text);
  const std::optional<Enum> found = find_word<Enum>(written.text);
  if (!found) throw wrong_word(key, kWords<Enum>, written);
  value = *found;
}

template <Worded Enum, typename Section>
void read_value(const std::string& key, Enum& value, const Preset<Section>& preset, const Written& written) {
  read_value(key, value, Choice<Enum>{}, written);
  apply_preset(preset.section, value);
}

/// Returns a value as it is printed in a recipe. Words and texts are quoted if YAML would read them as
/// something else.
std::string value_text(const std::string& value);
std::string value_text(const AutoOrNumber& value);
std::string value_text(const std::vector<int64_t>& numbers);
std::string value_text(const std::vector<std::string>& names);
std::string value_text(bool value);
std::string value_text(int64_t value);
std::string value_text(double value);
template <Worded Enum>
std::string value_text(const Enum& value) {
  return value_text(std::string(word_of(value)));
}

}  // namespace plimsoll
