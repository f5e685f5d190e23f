#include "config/foreign_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

#include "base/error.h"
#include "config/yaml.h"
#include "config/yaml_names.h"

namespace plimsoll {
namespace {

// An anchor may stand for a map that contains it, so depth is limited.
constexpr int kMaxDepth = 8;

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
    settings.push_back({key, std::move(value)});
  }
}

// Returns the value of an assignment: without quotes, or up to a comment.
std::string value_of(const std::string& assigned) {
  if (assigned.size() > 1 && (assigned[0] == '"' || assigned[0] == '\''))
    return assigned.substr(1, assigned.find(assigned[0], 1) - 1);
  return assigned.substr(0, assigned.find_first_of(" \t;#"));
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
  static const std::regex kAssignment(R"(^\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)$)");
  std::vector<ForeignSetting> settings;
  std::istringstream stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    std::smatch found;
    if (!std::regex_match(line, found, kAssignment)) continue;
    std::string key = found[1];
    std::ranges::transform(key, key.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    settings.push_back({key, {value_of(found[2]), fmt::format("{}:{}:1", name, number)}});
  }
  return settings;
}

}  // namespace plimsoll
