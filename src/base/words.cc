#include "base/words.h"

#include <fmt/format.h>

#include <vector>

#include "base/nearest_word.h"
#include "base/shown.h"

namespace plimsoll {

std::string list_words(std::span<const std::string_view> words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) list += i + 1 == words.size() ? " or " : ", ";
    list += words[i];
  }
  return list;
}

std::string nearest_hint(std::string_view word, std::span<const std::string_view> words) {
  // A word with more errors than this is not a typing mistake.
  const size_t max_errors = word.size() / 3;
  if (max_errors == 0) return {};
  const std::string nearest =
      nearest_word(word, std::vector<std::string>(words.begin(), words.end()), max_errors);
  return nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest);
}

UsageError unknown_word(std::string_view what, std::string_view word,
                        std::span<const std::string_view> words) {
  return UsageError(fmt::format("{}: found '{}', expected {}{}", what, shown(word), list_words(words),
                                nearest_hint(word, words)));
}

}  // namespace plimsoll
