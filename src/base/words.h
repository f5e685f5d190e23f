#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace plimsoll {

// Values of options and of fields in files are enums in the code. Next to each enum is its one table of
// words:
//
//     enum class JkMode : uint8_t { cat, max, lstm };
//     template <>
//     inline constexpr auto kWords<JkMode> = std::to_array<std::string_view>({"cat", "max", "lstm"});
//
// base/word_text.h prints such enums with fmt, and base/json.h writes them as JSON.

/// The words of an enum whose values count from 0, in the order of the values.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> kWords = {};

/// An enum with a table of words.
template <typename Enum>
concept Worded = std::is_enum_v<Enum> && !kWords<Enum>.empty();

template <Worded Enum>
constexpr std::string_view word_of(Enum value) {
  return kWords<Enum>[static_cast<size_t>(value)];
}

/// Returns the value with this word, or nullopt if there is none.
template <Worded Enum>
constexpr std::optional<Enum> find_word(std::string_view word) {
  for (size_t i = 0; i < kWords<Enum>.size(); ++i)
    if (kWords<Enum>[i] == word) return static_cast<Enum>(i);
  return std::nullopt;
}

/// Returns the words as "a, b or c".
std::string list_words(std::span<const std::string_view> words);
/// Returns "; did you mean 'b'?" with the nearest word (base/nearest_word.h), or "" if each has more errors
/// than a third of the letters of `word`.
std::string nearest_hint(std::string_view word, std::span<const std::string_view> words);
/// Returns the error "WHAT: found 'x', expected a, b or c", with a suggestion if a word is near.
UsageError unknown_word(std::string_view what, std::string_view word,
                        std::span<const std::string_view> words);

/// Returns the value with this word. `what` names the option. Errors: unknown_word().
template <Worded Enum>
Enum parse_word(std::string_view word, std::string_view what) {
  const std::optional<Enum> value = find_word<Enum>(word);
  if (!value) throw unknown_word(what, word, kWords<Enum>);
  return *value;
}

}  // namespace plimsoll
