#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/key_values.h"

namespace plimsoll {

/// A key of a recipe, bound to the variable with its value. The variable must outlive this object.
struct RecipeKey {
  std::string name;                          ///< The key with its section, such as "gnn.heads".
  std::function<void(const Written&)> read;  ///< Sets the value. Errors: UsageError.
  std::function<std::string()> text;         ///< Returns the value as it is printed.
  std::vector<std::string_view> words;       ///< The words that the key accepts; empty if it has none.
  bool is_preset = false;  ///< Whether it is a preset, which sets later keys of its section (checks.h).
};

/// The keys of a recipe, in the order in which they are printed. Recipes are read, overridden, printed and
/// checked through this class.
class RecipeKeys {
 public:
  template <typename Value, typename Check>
  void add(std::string name, Value& value, const Check& check) {
    keys_.push_back(key_of(std::move(name), value, check));
  }

  /// Adds the keys of a section, in the order of its visit_keys(), before `next`, a key that was added
  /// earlier. Errors: Failure if there is no such key.
  template <typename Section>
  void add_section_before(std::string_view next, const std::string& section, Section& values) {
    RecipeKeys added;
    visit_keys(values, [&](const char* key, auto& value, const auto& check) {
      added.add(section + "." + key, value, check);
    });
    insert_before(next, std::move(added));
  }

  const std::vector<RecipeKey>& all() const { return keys_; }
  std::vector<std::string> names() const;
  /// Returns the key with this name, or null if there is none.
  const RecipeKey* find(std::string_view name) const;
  /// Returns whether keys of a section with this name, such as "training.block", were added.
  bool has_section(std::string_view name) const;

 private:
  template <typename Value, typename Check>
  static RecipeKey key_of(std::string name, Value& value, const Check& check) {
    RecipeKey key;
    key.name = name;
    key.read = [name = std::move(name), &value, check](const Written& written) {
      read_value(name, value, check, written);
    };
    key.text = [&value] { return value_text(value); };
    if constexpr (requires { check.words; }) key.words = check.words;
    if constexpr (Worded<Value>) key.words.assign(kWords<Value>.begin(), kWords<Value>.end());
    if constexpr (std::is_same_v<Value, bool>) key.words.assign(kFlagWords.begin(), kFlagWords.end());
    key.is_preset = requires {
      check.section;
    };
    return key;
  }
  void insert_before(std::string_view next, RecipeKeys added);

  std::vector<RecipeKey> keys_;
};

}  // namespace plimsoll
