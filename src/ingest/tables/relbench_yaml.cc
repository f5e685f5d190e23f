#include "ingest/tables/relbench_yaml.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int kMaxDepth = 16;
constexpr int64_t kMaxNodes = 100'000;

// Converts a node at a depth. `nodes` counts all converted nodes, because aliases may repeat nodes.
Json json_below(const YAML::Node& node, const std::string& where, int depth, int64_t& nodes) {
  if (depth > kMaxDepth)
    throw InputError(
        fmt::format("{}: is nested more than {} deep; remove the nesting or its anchor", where, kMaxDepth));
  if (++nodes > kMaxNodes)
    throw InputError(fmt::format("{}: has more than {} values; shorten it", where, kMaxNodes));
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& item : node) list.push_back(json_below(item, where, depth + 1, nodes));
    return list;
  }
  if (node.IsMap()) {
    Json map = Json::object();
    for (const auto& item : node) map[item.first.Scalar()] = json_below(item.second, where, depth + 1, nodes);
    return map;
  }
  if (!node.IsScalar()) return {};
  const std::string& text = node.Scalar();
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() ? Json(number) : Json(text);
}

}  // namespace

YAML::Node load_yaml_map(const Location& file) {
  try {
    YAML::Node node = YAML::Load(read_text(file));
    if (node.IsNull()) return YAML::Node(YAML::NodeType::Map);
    if (!node.IsMap()) throw InputError(file.text() + ": is no map; fetch the data set again");
    return node;
  } catch (const YAML::Exception& error) {
    throw InputError(fmt::format("{}:{}:{}: {}; fix the manifest", file.text(), error.mark.line + 1,
                                 error.mark.column + 1, error.msg));
  }
}

std::string yaml_text(const YAML::Node& node, const char* key, const std::string& where) {
  const YAML::Node found = node[key];
  if (!found || found.IsNull()) return "";
  if (!found.IsScalar())
    throw InputError(fmt::format("{}: {} is not a text; expected the name of a column", where, key));
  return found.Scalar();
}

Json yaml_json(const YAML::Node& node, const std::string& where) {
  int64_t nodes = 0;
  return json_below(node, where, 1, nodes);
}

}  // namespace plimsoll
