#include "config/yaml_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace plimsoll {

std::string yaml_of(const RecipeValues& values) {
  std::string yaml;
  std::vector<std::string> open;  // Sections of the last line.
  for (const auto& [name, value] : values) {
    std::string_view key = name;
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
    yaml += fmt::format("{:{}}{}: {}\n", "", 2 * parts.size(), key, value);
  }
  return yaml;
}

}  // namespace plimsoll
