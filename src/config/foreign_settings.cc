#include "config/foreign_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/yaml.h"
#include "config/yaml_names.h"

namespace plimsoll {
namespace {

// An anchor may stand for a map that contains it, so depth is limited.
constexpr int kMaxDepth = 8;
// Anchors within anchors multiply, so their number is limited, too.
constexpr size_t kMaxSettings = 10'000;

void add_settings(const YAML::Node& map, const std::string& prefix, const std::string& name, int depth,
                  std::vector<ForeignSetting>& settings) {
  for (const auto& entry : map) {
    const YAML::Mark mark = entry.first.Mark();
    const std::string where = fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
    if (!entry.first.IsScalar()) throw UsageError(where + ": a key must be a name");
    const std::string key = prefix + entry.first.as<std::string>();
    if (entry.second.IsMap() && depth < kMaxDepth) {
      add_settings(entry.second, key + ".", name, depth + 1, settings);
      continue;
    }
    Written value{"", where, names_in(entry.second)};
    if (value.names && value.names->size() == 1) {  // A list of one is a single value.
      value.text = value.names->front();
      value.names.reset();
    }
    if (entry.second.IsScalar()) value.text = entry.second.as<std::string>();
    if (settings.size() == kMaxSettings)
      throw UsageError(
          fmt::format("{}: has more than {} settings; give a file of one run", where, kMaxSettings));
    settings.push_back({key, std::move(value)});
  }
}

// Returns the name in front of "=", after `export`, `readonly`, `local` or `declare` and its options; empty
// if there is none.
std::string name_assigned(const std::string& before) {
  std::istringstream words(before);
  std::string word;
  std::vector<std::string> all;
  while (words >> word) all.push_back(word);
  if (all.empty() || before.back() == ' ' || before.back() == '\t') return {};
  constexpr std::array<std::string_view, 4> kPrefixes = {"export", "readonly", "local", "declare"};
  const bool has_prefix = std::ranges::find(kPrefixes, all.front()) != kPrefixes.end();
  for (size_t i = has_prefix ? 1 : 0; i + 1 < all.size(); ++i)
    if (!has_prefix || !all[i].starts_with('-')) return {};
  const std::string& name = all.back();
  const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  const bool is_name =
      std::ranges::all_of(name, is_part) && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  return is_name ? name : std::string();
}

// Returns the value of an assignment: without quotes, or up to a comment.
std::string value_of(const std::string& assigned) {
  if (assigned.size() > 1 && (assigned[0] == '"' || assigned[0] == '\''))
    return assigned.substr(1, assigned.find(assigned[0], 1) - 1);
  return assigned.substr(0, assigned.find_first_of(" \t;#"));
}

// Calls visit(command, first) for every command of a line, which semicolons separate that are not in quotes;
// `first` is the index of its first character. A comment ends the line.
template <typename Visit>
void visit_commands(const std::string& line, const Visit& visit) {
  char quote = 0;
  size_t begin = 0, at = 0;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '\\' && quote != '\'') {
      ++at;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' && (at == begin || line[at - 1] == ' ' || line[at - 1] == '\t')) {
      break;
    } else if (c == ';') {
      visit(line.substr(begin, at - begin), begin);
      begin = at + 1;
    }
  }
  visit(line.substr(begin, std::min(at, line.size()) - begin), begin);
}

}  // namespace

std::vector<ForeignSetting> settings_of_yaml(const std::string& text, const std::string& name) {
  std::vector<ForeignSetting> settings;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) throw UsageError(name + ": expected a map of settings, as in a config.json");
    add_settings(root, "", name, 0, settings);
  } catch (const YAML::Exception& error) {
    throw UsageError(
        fmt::format("{}:{}:{}: neither YAML nor JSON: {}; a shell script must have a name that ends in .sh",
                    name, error.mark.line + 1, error.mark.column + 1, error.msg));
  }
  return settings;
}

std::vector<ForeignSetting> settings_of_shell(const std::string& text, const std::string& name) {
  std::vector<ForeignSetting> settings;
  std::istringstream stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    visit_commands(line, [&](const std::string& command, size_t first) {
      const size_t equals = command.find('=');
      std::string key = name_assigned(command.substr(0, equals));
      if (equals == std::string::npos || key.empty()) return;
      std::ranges::transform(key, key.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const size_t name_at = first + command.find_first_not_of(" \t");
      settings.push_back(
          {key, {value_of(command.substr(equals + 1)), fmt::format("{}:{}:{}", name, number, name_at + 1)}});
    });
  }
  return settings;
}

}  // namespace plimsoll
