#include "config/recipe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/known_recipes.h"
#include "config/written_values.h"

namespace plimsoll {
namespace {

// Returns the keys in which the first two presets of their section differ.
std::vector<std::string> keys_of_presets() {
  Recipe recipe;
  const RecipeKeys keys = recipe_keys(recipe);
  std::vector<std::string> differing;
  for (const RecipeKey& preset : keys.all()) {
    if (!preset.is_preset) continue;
    const std::string section = preset.name.substr(0, preset.name.rfind('.') + 1);
    std::vector<std::string> first;
    preset.read({std::string(preset.words[0]), ""});
    for (const RecipeKey& key : keys.all()) first.push_back(key.text());
    preset.read({std::string(preset.words[1]), ""});
    for (size_t i = 0; i < first.size(); ++i)
      if (keys.all()[i].name.starts_with(section) && keys.all()[i].text() != first[i])
        differing.push_back(keys.all()[i].name);
  }
  return differing;
}

// A preset in an override replaces the sizes in the file, but not the sizes in other overrides.
void drop_sizes_of_file(WrittenValues& values, const std::vector<std::string>& overridden) {
  const auto is_overridden = [&](const std::string& key) {
    return std::ranges::find(overridden, key) != overridden.end();
  };
  for (const std::string& key : keys_of_presets()) {
    const std::string preset = key.substr(0, key.rfind('.')) + ".preset";
    if (is_overridden(preset) && !is_overridden(key)) values.erase(key);
  }
}

}  // namespace

RecipeKeys recipe_keys(Recipe& recipe) {
  RecipeKeys keys;
  visit_recipe(recipe,
               [&](const std::string& key, auto& value, const auto& check) { keys.add(key, value, check); });
  recipe.parts.add_keys(keys);
  return keys;
}

Recipe parse_recipe(const std::string& text, const std::string& name,
                    const std::vector<std::string>& overrides, Recipe defaults) {
  Recipe recipe = std::move(defaults);
  const RecipeKeys keys = recipe_keys(recipe);
  UnknownKeys unknown(keys);
  WrittenValues values = written_values(text, name, keys, unknown);
  std::vector<std::string> overridden;
  for (const std::string& given : overrides) {
    const size_t equals = given.find('=');
    const std::string where = "-O " + given;
    if (equals == std::string::npos) throw UsageError(where + ": expected section.key=value");
    const std::string key = given.substr(0, equals);
    overridden.push_back(key);
    if (keys.find(key) != nullptr)
      values[key] = Written{given.substr(equals + 1), where};
    else
      unknown.add(key, given.substr(equals + 1), where);
  }
  unknown.refuse();
  drop_sizes_of_file(values, overridden);
  for (const RecipeKey& key : keys.all())
    if (const auto found = values.find(key.name); found != values.end()) key.read(found->second);
  recipe.parts.settle(values);
  return recipe;
}

Recipe load_recipe(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                   Recipe defaults) {
  return parse_recipe(read_recipe(path), path.string(), overrides, std::move(defaults));
}

RecipeValues recipe_values(const Recipe& recipe) {
  Recipe copy = recipe;
  const RecipeKeys keys = recipe_keys(copy);
  RecipeValues values;
  for (const RecipeKey& key : keys.all()) values.emplace_back(key.name, key.text());
  return values;
}

std::string recipe_yaml(const Recipe& recipe) {
  return yaml_of(recipe_values(recipe));
}

}  // namespace plimsoll
