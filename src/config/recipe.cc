#include "config/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>

#include "base/error.h"
#include "config/schema.h"

namespace plimsoll {
namespace {

// A value as it was written, and where.
struct Written {
  std::string text;  // of a list: its values, with commas between
  std::string where;
  bool is_list = false;
};
using WrittenValues = std::map<std::string, Written>;

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j)
      diagonal =
          std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])}));
  }
  return row.back();
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys;
  Recipe recipe;
  visit_recipe(recipe, [&](const std::string& key, auto&, auto) { keys.push_back(key); });
  return keys;
}

void require_known(const std::string& key, const std::string& where) {
  const std::vector<std::string> keys = known_keys();
  if (std::find(keys.begin(), keys.end(), key) != keys.end()) return;
  const std::string_view last = std::string_view(key).substr(key.rfind('.') + 1);
  for (const auto& [retired, instead] : kRetiredKeys)
    if (last == retired)
      throw UsageError(fmt::format("{}: '{}' is no key here; instead: {}", where, key, instead));
  const auto nearest = std::min_element(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    return edit_distance(a, key) < edit_distance(b, key);
  });
  throw UsageError(fmt::format("{}: unknown key '{}'; the nearest known key is '{}'", where, key, *nearest));
}

Written written_value(const YAML::Node& node, const std::string& key, const std::string& where) {
  if (node.IsScalar()) return {node.as<std::string>(), where};
  if (!node.IsSequence()) throw UsageError(fmt::format("{}: '{}' must be a single value", where, key));
  Written list{"", where, true};
  for (const YAML::Node& entry : node) {
    if (!entry.IsScalar())
      throw UsageError(fmt::format("{}: '{}' must be a list of single values", where, key));
    list.text += (list.text.empty() ? "" : ",") + entry.as<std::string>();
  }
  return list;
}

void flatten(const YAML::Node& node, const std::string& prefix, const std::string& name,
             WrittenValues& values) {
  for (const auto& entry : node) {
    const YAML::Mark mark = entry.first.Mark();
    const std::string where = fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
    const std::string key = prefix + entry.first.as<std::string>();
    // An anchor may stand for a map around it: deeper than all keys, a map has to be an error.
    constexpr auto kDeepest = 3;
    if (entry.second.IsMap() && std::count(key.begin(), key.end(), '.') < kDeepest) {
      flatten(entry.second, key + ".", name, values);
      continue;
    }
    require_known(key, where);
    if (!values.emplace(key, written_value(entry.second, key, where)).second)
      throw UsageError(fmt::format("{}: '{}' is given twice", where, key));
  }
}

void require_word(const std::string& key, std::string_view words, const Written& written) {
  const std::string all = fmt::format("|{}|", words);
  if (written.text.find('|') == std::string::npos &&
      all.find(fmt::format("|{}|", written.text)) != std::string::npos)
    return;
  const std::string reason =
      key == "training.precision"
          ? " (on the CPU other precisions are slower; memory is saved by training.block instead)"
          : "";
  throw UsageError(
      fmt::format("{}: {} is '{}', expected {}{}", written.where, key, written.text, words, reason));
}

void set(const std::string& key, std::string& value, const Choice& choice, const Written& written) {
  require_word(key, choice.words, written);
  value = written.text;
}

void set(const std::string& key, bool& value, const Flag&, const Written& written) {
  require_word(key, "true|false", written);
  value = written.text == "true";
}

template <typename Model>
void set(const std::string& key, std::string& value, const Preset<Model>& preset, const Written& written) {
  require_word(key, preset.words, written);
  apply_preset(preset.model, written.text);
  value = written.text;
}

template <typename Number>
void set(const std::string& key, Number& value, const Range& range, const Written& written) {
  std::istringstream text(written.text);
  Number number{};
  if (!(text >> number) || text.peek() != std::istringstream::traits_type::eof())
    throw UsageError(fmt::format("{}: {} is '{}', expected {}", written.where, key, written.text,
                                 std::is_integral_v<Number> ? "a whole number" : "a number"));
  if (!(static_cast<double>(number) >= range.least && static_cast<double>(number) <= range.most))
    throw UsageError(fmt::format("{}: {} is {}, expected {:g} to {:g}", written.where, key, written.text,
                                 range.least, range.most));
  value = number;
}

void set(const std::string& key, std::vector<int64_t>& value, const Numbers& numbers,
         const Written& written) {
  value.clear();
  std::istringstream text(written.text);
  for (std::string part; std::getline(text, part, ',');)
    set(key, value.emplace_back(), Range{numbers.least, numbers.most}, Written{part, written.where});
  if (value.empty()) throw UsageError(fmt::format("{}: {} is an empty list", written.where, key));
}

template <typename Value>
constexpr bool kIsList = false;
template <typename Entry>
constexpr bool kIsList<std::vector<Entry>> = true;

std::string as_yaml(const std::vector<int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}
template <typename Value>
const Value& as_yaml(const Value& value) {
  return value;
}

}  // namespace

Recipe parse_recipe(const std::string& text, const std::string& name,
                    const std::vector<std::string>& overrides) {
  WrittenValues values;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap() && !root.IsNull()) throw UsageError(name + ": a recipe is a map of sections and keys");
    flatten(root, "", name, values);
  } catch (const YAML::Exception& error) {
    throw UsageError(
        fmt::format("{}:{}:{}: not YAML: {}", name, error.mark.line + 1, error.mark.column + 1, error.msg));
  }
  for (const std::string& given : overrides) {
    const size_t equals = given.find('=');
    const std::string where = "-O " + given;
    if (equals == std::string::npos) throw UsageError(where + ": expected section.key=value");
    const std::string key = given.substr(0, equals);
    require_known(key, where);
    values[key] = {given.substr(equals + 1), where};
  }
  Recipe recipe;
  visit_recipe(recipe, [&](const std::string& key, auto& value, const auto& check) {
    const auto found = values.find(key);
    if (found == values.end()) return;
    if (found->second.is_list && !kIsList<std::remove_reference_t<decltype(value)>>)
      throw UsageError(fmt::format("{}: '{}' must be a single value", found->second.where, key));
    set(key, value, check, found->second);
  });
  return recipe;
}

Recipe load_recipe(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) throw InputError("no such recipe: " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return parse_recipe(text.str(), path.string(), overrides);
}

std::string recipe_yaml(const Recipe& recipe) {
  std::string yaml;
  std::vector<std::string> open;  // the sections that the last line stands in
  visit_recipe(recipe, [&](std::string_view key, const auto& value, const auto&) {
    std::vector<std::string> parts;
    for (size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
      parts.emplace_back(key.substr(0, dot));
      key.remove_prefix(dot + 1);
    }
    for (size_t depth = 0; depth < parts.size(); ++depth)
      if (depth >= open.size() ||
          !std::equal(parts.begin(), parts.begin() + static_cast<int64_t>(depth) + 1, open.begin()))
        yaml += fmt::format("{:{}}{}:\n", "", 2 * depth, parts[depth]);
    open = parts;
    yaml += fmt::format("{:{}}{}: {}\n", "", 2 * parts.size(), key, as_yaml(value));
  });
  return yaml;
}

}  // namespace plimsoll
