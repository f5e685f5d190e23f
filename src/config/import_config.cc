#include "config/import_config.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"
#include "config/foreign_names.h"
#include "config/foreign_settings.h"
#include "config/recipe.h"

namespace plimsoll {
namespace {

// What a setting becomes.
struct Target {
  std::string key;  // Empty: it is dropped.
  Written value;
};

std::string shown(const Written& value) {
  if (!value.names) return value.text;
  std::string list;
  for (const std::string& name : *value.names) list += (list.empty() ? "[" : ", ") + name;
  return list + "]";
}

class Importer {
 public:
  void add(const ForeignSetting& setting) {
    const Target target = target_of(setting);
    if (target.key.empty()) return drop(setting, reason_for(setting));
    try {
      keys_.find(target.key)->read(target.value);
    } catch (const UsageError& error) {
      const std::string reason = reason_for(setting);
      const std::string what = error.what();
      return drop(setting,
                  reason.empty() || setting.key == target.key ? what.substr(what.find(": ") + 2) : reason);
    }
    set(target, setting);
    found_.taken.push_back(
        target.key == setting.key && target.value.text == setting.value.text
            ? fmt::format("{}: {}: {}", setting.value.where, target.key, shown(target.value))
            : fmt::format("{}: {}: {} becomes {}: {}", setting.value.where, setting.key, shown(setting.value),
                          target.key, shown(target.value)));
  }

  void override_with(const std::string& text) {
    const size_t equals = text.find('=');
    const std::string key = text.substr(0, equals), where = "-O " + text;
    if (equals == std::string::npos) throw UsageError(where + ": expected section.key=value");
    if (keys_.find(key) == nullptr) throw UsageError(where + ": unknown key; docs/recipe.md has all keys");
    values_[key] = {text.substr(equals + 1), where};
  }

  ImportedConfig finish(const std::string& name) {
    Recipe recipe;
    const RecipeKeys keys = recipe_keys(recipe);
    RecipeValues values;
    for (const RecipeKey& key : keys.all()) {
      const auto found = values_.find(key.name);
      if (found == values_.end()) continue;
      key.read(found->second);
      values.emplace_back(key.name, key.text());
    }
    found_.recipe = values.empty() ? "" : yaml_of(values);
    parse_recipe(found_.recipe, name, {});
    return std::move(found_);
  }

 private:
  // Returns the setting without the section `trainer`, in which Lightning has what others have in no section.
  static ForeignSetting without_trainer(ForeignSetting setting) {
    constexpr std::string_view kTrainer = "trainer.";
    if (setting.key.starts_with(kTrainer)) setting.key.erase(0, kTrainer.size());
    return setting;
  }

  Target target_of(const ForeignSetting& of_file) const {
    const ForeignSetting setting = without_trainer(of_file);
    if (keys_.find(setting.key) != nullptr && !is_foreign_value(setting)) return {setting.key, setting.value};
    const std::string becomes(becomes_in_recipe(setting.key, setting.value.text));
    if (const size_t equals = becomes.find('='); equals != std::string::npos)
      return {becomes.substr(0, equals), {becomes.substr(equals + 1), setting.value.where}};
    if (!becomes.empty()) return {becomes, setting.value};
    if (!instead_of(setting.key, setting.value.text).empty()) return {};
    return {section_of(setting.key), setting.value};
  }

  // Returns the key with its section; of several, that of `training`, which other systems mean. Empty: none.
  std::string section_of(const std::string& name) const {
    const std::string of_training = "training." + name;
    if (keys_.find(of_training) != nullptr) return of_training;
    const std::string called = keys_called(name);
    return called.find(" or ") == std::string::npos ? called : "";
  }

  // A key without a section may also exist in another system, with other words: `model: gat`.
  static bool is_foreign_value(const ForeignSetting& setting) {
    return setting.key.find('.') == std::string::npos &&
           !becomes_in_recipe(setting.key, setting.value.text).empty();
  }

  std::string reason_for(const ForeignSetting& of_file) const {
    const ForeignSetting setting = without_trainer(of_file);
    if (const std::string_view instead = instead_of(setting.key, setting.value.text); !instead.empty())
      return fmt::format("instead: {}", instead);
    if (const std::string called = keys_called(setting.key); !called.empty())
      return fmt::format("belongs in a section: {}", called);
    return "no key of a recipe has this name";
  }

  void drop(const ForeignSetting& setting, const std::string& reason) {
    found_.dropped.push_back(
        fmt::format("{}: {}: {}: {}", setting.value.where, setting.key, shown(setting.value), reason));
  }

  void set(const Target& target, const ForeignSetting& setting) {
    const auto [found, is_new] = values_.emplace(target.key, target.value);
    if (is_new || shown(found->second) == shown(target.value)) return;
    throw UsageError(fmt::format("{}: '{}' would set {} to {}, but {} sets it to {}; remove one of them",
                                 setting.value.where, setting.key, target.key, shown(target.value),
                                 found->second.where, shown(found->second)));
  }

  Recipe recipe_;
  const RecipeKeys keys_ = recipe_keys(recipe_);
  WrittenValues values_;
  ImportedConfig found_;
};

}  // namespace

ImportedConfig import_config(const std::string& text, const std::string& name,
                             const std::vector<std::string>& overrides) {
  Importer importer;
  const bool is_shell = name.ends_with(".sh");
  for (const ForeignSetting& setting :
       is_shell ? settings_of_shell(text, name) : settings_of_yaml(text, name))
    importer.add(setting);
  for (const std::string& override : overrides) importer.override_with(override);
  return importer.finish(name);
}

}  // namespace plimsoll
