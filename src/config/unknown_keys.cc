#include "config/unknown_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest_word.h"
#include "config/foreign_names.h"

namespace plimsoll {
namespace {

constexpr int kMaxUnknownKeys = 64;

// Returns the first key of a section, in the form of an override or of a recipe, with `value` if it names a
// preset.
std::string first_key(const RecipeKeys& keys, const std::string& section, std::string_view value,
                      bool is_override) {
  const auto first = std::ranges::find_if(
      keys.all(), [&](const RecipeKey& known) { return known.name.starts_with(section + "."); });
  const bool is_preset = first->is_preset && std::ranges::find(first->words, value) != first->words.end();
  const std::string text = is_preset ? std::string(value) : "...";
  return is_override ? first->name + "=" + text
                     : fmt::format("{}: {{{}: {}}}", section, first->name.substr(section.size() + 1), text);
}

std::string answer_to(const RecipeKeys& keys, const std::string& key, std::string_view value,
                      const std::string& where) {
  if (const std::string_view instead = instead_of(key, value); !instead.empty())
    return fmt::format("{}: '{}' is not a key here; instead: {}", where, key, instead);
  if (const std::string called = keys_called(key); !called.empty())
    return fmt::format("{}: '{}' belongs in a section: {}", where, key, called);
  if (keys.has_section(key))
    return fmt::format("{}: '{}' is a section{}, expected its keys, such as {}", where, key,
                       value.empty() ? "" : fmt::format(", found '{}'", value),
                       first_key(keys, key, value, where.starts_with("-O")));
  return fmt::format("{}: unknown key '{}'; the nearest known key is '{}'", where, key,
                     nearest_word(key, keys.names()));
}

}  // namespace

void UnknownKeys::add(const std::string& key, std::string_view value, const std::string& where) {
  text_ += (text_.empty() ? "" : "\n") + answer_to(keys_, key, value, where);
  if (++count_ == kMaxUnknownKeys) refuse();
}

void UnknownKeys::refuse() const {
  if (count_ > 0) throw UsageError(text_);
}

}  // namespace plimsoll
