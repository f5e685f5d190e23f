#include "ingest/tables/meanings_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/yaml.h"
#include "ingest/tables/table_sources.h"

namespace plimsoll {
namespace {

constexpr const char* kForm = "expected TABLE: {COLUMN: MEANING, ...}";

// Throws InputError with the line of a node.
[[noreturn]] void refuse(const std::string& path, const YAML::Node& node, const std::string& what) {
  const YAML::Mark mark = node.Mark();
  throw InputError(fmt::format("{}:{}:{}: {}; {}", path, mark.line + 1, mark.column + 1, what, kForm));
}

}  // namespace

void add_meanings_file(const Location& file, TablesOptions& options) {
  const std::string path = file.text();
  if (!is_file(file)) throw InputError(path + ": no such file of meanings");
  try {
    const YAML::Node root = YAML::Load(read_text(file));
    add_source(file, options);
    if (root.IsNull()) return;
    if (!root.IsMap()) refuse(path, root, "is no map");
    for (const auto& table : root) {
      const auto name = table.first.as<std::string>();
      const auto spec = std::ranges::find(options.tables, name, &TableSpec::name);
      if (spec == options.tables.end())
        refuse(path, table.first, fmt::format("there is no table '{}'", name));
      if (!table.second.IsMap()) refuse(path, table.second, fmt::format("'{}' is no map", name));
      for (const auto& column : table.second) {
        if (!column.second.IsScalar()) refuse(path, column.second, "a meaning is no word");
        spec->meanings.try_emplace(column.first.as<std::string>(), column.second.Scalar());
      }
    }
  } catch (const YAML::Exception& error) {
    throw InputError(
        fmt::format("{}:{}:{}: {}; {}", path, error.mark.line + 1, error.mark.column + 1, error.msg, kForm));
  }
}

}  // namespace plimsoll
