#include "config/yaml_names.h"

namespace plimsoll {

std::optional<std::vector<std::string>> names_in(const YAML::Node& node) {
  if (!node.IsSequence()) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& name : node) {
    if (!name.IsScalar()) return std::nullopt;
    names.push_back(name.as<std::string>());
  }
  return names;
}

}  // namespace plimsoll
